package document

import "paddock/internal/policy/compiled/document/table"

// Table is what a policy file may look like, for whoever lays one out.
var Table = table.Policy
