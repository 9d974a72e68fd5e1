"""Sessions on a standalone cluster of Spark.

test_settings         what a session asks for
test_master_workers   every job on a real master with two workers
"""
