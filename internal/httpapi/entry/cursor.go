package entry

import "paddock"

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
