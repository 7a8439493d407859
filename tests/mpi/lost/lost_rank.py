#!/usr/bin/env python3
"""A lost rank ends the program of all: lost_rank.py MPIEXEC FLAG PROGRAM.

A rank exits, is killed, or throws, while the others wait for it. Nothing waits for ever and the status tells of it. Where Open MPI
is asked to let the others live, the watchdog on each of them names its rank, the operation and the line.
"""
import os
import subprocess
import sys

mpiexec, flag, program = sys.argv[1:4]
at = "lost_rank.cpp"


def run(how, *options):
    command = [mpiexec, *options, flag, "3", program, how]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, env=os.environ)
    return done.returncode, done.stdout + done.stderr


def refuse(how, text, why):
    sys.exit(f"{how}: {why}\n{text}")


version = subprocess.run([mpiexec, "--version"], capture_output=True, text=True).stdout
for how in ("exit", "kill", "throw"):
    status, text = run(how)
    if status == 0:
        refuse(how, text, "the program's status is 0")
    if "Open MPI" not in version:
        continue
    _, text = run(how, "--mca", "orte_enable_recovery", "1")
    for rank in (1, 2):
        if f"[allreduce] rank {rank} of 3 has waited" not in text or at not in text:
            refuse(how, text, f"rank {rank} does not say what it has waited for")
status, text = run("none")
if status != 0:
    refuse("none", text, "a program that loses no rank fails")
print("lost ranks: all of them end the program")
