// Package store is the contract of the server's storage: what is kept beside the
// runs' own directories, and what may be asked of it.
//
// The values of this package are the rows. Each interface is what one room needs;
// [Store] is all of them, and is what a backend gives. Two exist, SQLite and
// PostgreSQL, below internal/store/tables, and one suite that both pass.
//
// Four rules hold for all of it:
//
//   - Whose a thing is stands in the query. A method about somebody's thing takes a
//     [Scope], and what is outside of it is [ErrNotFound], the same as what never was.
//   - The caller says what time it is, as a [Moment]. No database's clock is asked.
//   - A secret is kept as its [Hash], or as the slow hash that the caller made.
//   - What a row says gives nobody authority. An envelope and a vote are signatures,
//     believed by the keys of whoever reads them and by nothing that is kept here.
//
// # Limits
//
// The package holds values and promises, and checks forms ([ErrInvalid]). It judges
// no one: who may ask what is app's to know. It starts nothing and keeps no output:
// the directory of a run is the truth about it from its claim on, and a row is a
// cache of that.
package store
