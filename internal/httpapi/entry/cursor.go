package entry

import (
	"net/url"

	"paddock"
)

// Cursor reads where a list of runs goes on; nothing is its beginning.
func Cursor(word string) (paddock.RunID, error) {
	if word == "" {
		return "", nil
	}
	id, err := paddock.ParseRunID(word)
	if err != nil {
		return "", paddock.Refused(paddock.InvalidRequest, "cursor is %.80q, which isn't the next of a page.", word)
	}
	return id, nil
}

// GoesOn says where the next page of a list is: at the same URL with that cursor.
func (c *Call) GoesOn(cursor string) {
	query := c.URL.Query()
	query.Set("cursor", cursor)
	c.Header().Set("Link", "<"+(&url.URL{Path: c.URL.Path, RawQuery: query.Encode()}).String()+`>; rel="next"`)
}
