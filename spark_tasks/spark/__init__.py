"""The warm Spark session.

session        one for the process
warm_up_state  how far it is
java           where Java is
"""
