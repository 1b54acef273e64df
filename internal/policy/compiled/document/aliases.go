package document

import "paddock/internal/policy/compiled/document/shape/table"

// Table is what a policy file may look like, for whoever lays one out.
var Table = table.Policy
