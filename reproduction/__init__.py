"""The experiments of the paper, and some beyond it: data, protocol, result rows, summaries, pictures.

    python -m reproduction list
    python -m reproduction run splice --data acceptor-82 --sizes 50 200 --repetitions 10
    python -m reproduction page

This folder is no part of the installed package, and uses its public names alone.
"""
