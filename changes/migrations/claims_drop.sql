DROP TRIGGER changes_free_tables ON changes_change;
DROP TRIGGER changes_claim_tables_of_new ON changes_change;
DROP TRIGGER changes_claim_tables ON changes_change;
DROP FUNCTION changes_free_tables();
DROP FUNCTION changes_claim_tables();
