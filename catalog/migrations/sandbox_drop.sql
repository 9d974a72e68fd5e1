DROP TRIGGER a_sandbox_stands_alone ON catalog_descriptor;
DROP FUNCTION catalog_sandbox_stands_alone();
DROP TRIGGER a_sandbox_is_made_so ON catalog_table;
DROP FUNCTION catalog_sandbox_is_made_so();
