DROP TRIGGER leases_keep_past ON leases_lease;
DROP FUNCTION leases_keep_past();
