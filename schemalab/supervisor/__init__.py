"""The cluster as a tree of processes.

tree             started in order, stopped in reverse, nothing left behind
process          one process: run, started again after a crash
children         how a child is started, stopped and ended
end_with         a worker ends with its supervisor
restarts    p    when a process is started again
watch            finds those that hang, or take all memory
questions        how each kind is asked whether it lives
heartbeat        the sign of life of one without a port
control          the control channel
process_control  killing and freezing through it
refusals    p    which commands a process obeys in its state
crash_events     crashes in the cluster's story
terminal         what processes say: on the screen and in logs, with
shown       p      which lines are for the screen
repeats     p      lines that repeat only counted
"""
