// Package queries is what sqlc makes of the queries beside it: a function for each,
// with our types. Change the .sql files and run make queries.
//
// # Limits
//
// It promises nothing: package tables says what a change needs to be whole.
package queries
