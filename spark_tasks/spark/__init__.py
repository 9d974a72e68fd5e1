"""The warm Spark session.

session        one for the process
warm_up_state  how far it is
jvm_watch      a JVM that hangs in a worker that lives
java           where Java is
priority       others go first
"""
