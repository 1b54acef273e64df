-- The columns stand in the order of the fields in package store. Times are
-- microseconds since 1970, 0 for never.

-- +goose Up

CREATE TABLE users (
	id       text    NOT NULL PRIMARY KEY,
	name     text    NOT NULL UNIQUE,
	role     text    NOT NULL,
	password text    NOT NULL,
	disabled integer NOT NULL,
	created  integer NOT NULL,
	changed  integer NOT NULL,
	revision integer NOT NULL
) STRICT;
CREATE INDEX users_by_age ON users (created, id);

CREATE TABLE identities (
	issuer    text    NOT NULL,
	subject   text    NOT NULL,
	owner     text    NOT NULL REFERENCES users (id),
	label     text    NOT NULL,
	created   integer NOT NULL,
	last_used integer NOT NULL,
	PRIMARY KEY (issuer, subject)
) STRICT;
CREATE INDEX identities_by_owner ON identities (owner);

CREATE TABLE invitations (
	id      text    NOT NULL PRIMARY KEY,
	code    blob    NOT NULL UNIQUE,
	role    text    NOT NULL,
	invitee text    NOT NULL,
	owner   text    NOT NULL REFERENCES users (id),
	created integer NOT NULL,
	expires integer NOT NULL,
	used_by text    NOT NULL,
	used    integer NOT NULL
) STRICT;
CREATE INDEX invitations_by_age ON invitations (created, id);

CREATE TABLE sessions (
	id        text    NOT NULL PRIMARY KEY,
	secret    blob    NOT NULL UNIQUE,
	owner     text    NOT NULL REFERENCES users (id),
	device    text    NOT NULL,
	address   text    NOT NULL,
	created   integer NOT NULL,
	last_seen integer NOT NULL,
	expires   integer NOT NULL,
	proven    integer NOT NULL,
	revoked   integer NOT NULL
) STRICT;
CREATE INDEX sessions_by_owner ON sessions (owner, created, id);
CREATE INDEX sessions_by_end ON sessions (expires);

CREATE TABLE tokens (
	id         text    NOT NULL PRIMARY KEY,
	secret     blob    NOT NULL UNIQUE,
	prefix     text    NOT NULL,
	name       text    NOT NULL,
	owner      text    NOT NULL REFERENCES users (id),
	scopes     text    NOT NULL,
	workspaces text    NOT NULL,
	created    integer NOT NULL,
	expires    integer NOT NULL,
	last_used  integer NOT NULL,
	revoked    integer NOT NULL
) STRICT;
CREATE INDEX tokens_by_owner ON tokens (owner, created, id);
CREATE INDEX tokens_by_age ON tokens (created, id);

CREATE TABLE links (
	secret  blob    NOT NULL PRIMARY KEY,
	owner   text    NOT NULL REFERENCES users (id),
	purpose text    NOT NULL,
	created integer NOT NULL,
	expires integer NOT NULL,
	used    integer NOT NULL
) STRICT;
CREATE INDEX links_by_end ON links (expires);

CREATE TABLE factors (
	id        text    NOT NULL PRIMARY KEY,
	owner     text    NOT NULL REFERENCES users (id),
	kind      text    NOT NULL,
	name      text    NOT NULL,
	handle    text    NOT NULL,
	data      blob    NOT NULL,
	counter   integer NOT NULL,
	created   integer NOT NULL,
	last_used integer NOT NULL
) STRICT;
CREATE UNIQUE INDEX factors_by_handle ON factors (handle) WHERE handle <> '';
CREATE INDEX factors_by_owner ON factors (owner, created, id);

CREATE TABLE workspaces (
	id       text    NOT NULL PRIMARY KEY,
	owner    text    NOT NULL REFERENCES users (id),
	name     text    NOT NULL,
	root     text    NOT NULL,
	path     text    NOT NULL,
	created  integer NOT NULL,
	archived integer NOT NULL
) STRICT;
CREATE UNIQUE INDEX workspaces_by_name ON workspaces (owner, name) WHERE archived = 0;
CREATE INDEX workspaces_by_owner ON workspaces (owner, created, id);
CREATE INDEX workspaces_by_age ON workspaces (created, id);

CREATE TABLE runs (
	id            text    NOT NULL PRIMARY KEY,
	owner         text    NOT NULL,
	principal     text    NOT NULL,
	workspace     text    NOT NULL,
	state         text    NOT NULL,
	priority      integer NOT NULL,
	needs         text    NOT NULL,
	label         text    NOT NULL,
	envelope      blob    NOT NULL,
	retry_of      text    NOT NULL,
	key           text    NOT NULL,
	request       text    NOT NULL,
	created       integer NOT NULL,
	worker        text    NOT NULL,
	fence         integer NOT NULL,
	claimed       integer NOT NULL,
	started       integer NOT NULL,
	settled       integer NOT NULL,
	cancel        integer NOT NULL,
	cancel_by     text    NOT NULL,
	cancel_why    text    NOT NULL,
	outcome       blob    NOT NULL,
	stdout_bytes  integer NOT NULL,
	stderr_bytes  integer NOT NULL,
	stdout_digest text    NOT NULL,
	stderr_digest text    NOT NULL,
	events        integer NOT NULL,
	keep_until    integer NOT NULL,
	pruned        integer NOT NULL,
	revision      integer NOT NULL
) STRICT;
CREATE INDEX runs_by_age ON runs (created, id);
CREATE INDEX runs_by_owner ON runs (owner, created, id);
CREATE INDEX runs_by_state ON runs (state, created, id);
CREATE INDEX runs_by_state_owner ON runs (state, owner, created, id);
CREATE INDEX runs_by_workspace ON runs (workspace, created, id) WHERE workspace <> '';
CREATE UNIQUE INDEX runs_by_key ON runs (owner, key) WHERE key <> '';
CREATE INDEX runs_queued ON runs (owner, priority DESC, created, id) WHERE state = 'queued';
-- Live is what was ever claimed, so has a fence, and isn't settled: queries say it in
-- just these words, so that they go by what is live and not by all that ever was.
CREATE INDEX runs_live ON runs (worker, id) WHERE fence > 0 AND settled = 0;
CREATE INDEX runs_live_of ON runs (owner, workspace) WHERE fence > 0 AND settled = 0;
CREATE INDEX runs_claimed ON runs (owner, claimed) WHERE claimed > 0;
CREATE INDEX runs_prunable ON runs (settled, id) WHERE settled > 0 AND pruned = 0;

CREATE TABLE nonces (
	nonce text    NOT NULL PRIMARY KEY,
	run   text    NOT NULL,
	used  integer NOT NULL
) STRICT;

-- Who changes a row here goes alone until his transaction ends.
CREATE TABLE turns (
	name  text    NOT NULL PRIMARY KEY,
	taken integer NOT NULL
) STRICT;
INSERT INTO turns (name, taken) VALUES ('admins', 0), ('claims', 0);

CREATE TABLE workers (
	id          text    NOT NULL PRIMARY KEY,
	name        text    NOT NULL,
	credential  blob    NOT NULL UNIQUE,
	labels      text    NOT NULL,
	capacity    integer NOT NULL,
	mode        text    NOT NULL,
	epoch       integer NOT NULL,
	beat        integer NOT NULL,
	last_seen   integer NOT NULL,
	lease_until integer NOT NULL,
	lost_after  integer NOT NULL,
	version     text    NOT NULL,
	created     integer NOT NULL,
	removed     integer NOT NULL
) STRICT;
CREATE UNIQUE INDEX workers_by_name ON workers (name) WHERE removed = 0;
CREATE INDEX workers_by_age ON workers (created, id);

CREATE TABLE approvals (
	id      text    NOT NULL PRIMARY KEY,
	run     text    NOT NULL,
	owner   text    NOT NULL,
	ask     blob    NOT NULL,
	created integer NOT NULL,
	expires integer NOT NULL,
	closed  integer NOT NULL,
	state   text    NOT NULL
) STRICT;
CREATE INDEX approvals_by_age ON approvals (created, id);
CREATE INDEX approvals_by_owner ON approvals (owner, created, id);
CREATE INDEX approvals_by_state ON approvals (state, created, id);

CREATE TABLE votes (
	approval text    NOT NULL REFERENCES approvals (id),
	key      text    NOT NULL,
	approve  integer NOT NULL,
	envelope blob    NOT NULL,
	created  integer NOT NULL,
	PRIMARY KEY (approval, key)
) STRICT;
