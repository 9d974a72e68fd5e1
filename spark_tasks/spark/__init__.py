"""The warm Spark session.

session        one for the process
cluster        what it needs on a cluster of machines
warm_up_state  how far it is
jvm_watch      a JVM that hangs in a worker that lives
java           where Java is
priority       others go first
"""
