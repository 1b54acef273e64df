-- +goose Up

-- Copies of what the directories of one machine say of runs that are over, for its lists.
-- They decide nothing, and are made again where they are missing.
CREATE TABLE copies (
	run    text    NOT NULL PRIMARY KEY,
	stamp  integer NOT NULL,
	record blob    NOT NULL
) STRICT;
