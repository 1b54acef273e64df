-- The columns stand in the order of the fields in package store. Times are
-- microseconds since 1970, 0 for never.

-- +goose Up

CREATE TABLE users (
	id       text COLLATE "C" PRIMARY KEY,
	name     text             NOT NULL UNIQUE,
	role     text             NOT NULL,
	password text             NOT NULL,
	disabled boolean          NOT NULL,
	created  bigint           NOT NULL,
	changed  bigint           NOT NULL,
	revision bigint           NOT NULL
);
CREATE INDEX users_by_age ON users (created, id);

CREATE TABLE identities (
	issuer    text             NOT NULL,
	subject   text             NOT NULL,
	owner     text COLLATE "C" NOT NULL REFERENCES users (id),
	label     text             NOT NULL,
	created   bigint           NOT NULL,
	last_used bigint           NOT NULL,
	PRIMARY KEY (issuer, subject)
);
CREATE INDEX identities_by_owner ON identities (owner);

CREATE TABLE invitations (
	id      text COLLATE "C" PRIMARY KEY,
	code    bytea            NOT NULL UNIQUE,
	role    text             NOT NULL,
	invitee text             NOT NULL,
	owner   text COLLATE "C" NOT NULL REFERENCES users (id),
	created bigint           NOT NULL,
	expires bigint           NOT NULL,
	used_by text             NOT NULL,
	used    bigint           NOT NULL
);
CREATE INDEX invitations_by_age ON invitations (created, id);

CREATE TABLE sessions (
	id        text COLLATE "C" PRIMARY KEY,
	secret    bytea            NOT NULL UNIQUE,
	owner     text COLLATE "C" NOT NULL REFERENCES users (id),
	device    text             NOT NULL,
	address   text             NOT NULL,
	created   bigint           NOT NULL,
	last_seen bigint           NOT NULL,
	expires   bigint           NOT NULL,
	proven    bigint           NOT NULL,
	revoked   bigint           NOT NULL
);
CREATE INDEX sessions_by_owner ON sessions (owner, created, id);
CREATE INDEX sessions_by_end ON sessions (expires);

CREATE TABLE tokens (
	id         text COLLATE "C" PRIMARY KEY,
	secret     bytea            NOT NULL UNIQUE,
	prefix     text             NOT NULL,
	name       text             NOT NULL,
	owner      text COLLATE "C" NOT NULL REFERENCES users (id),
	scopes     text             NOT NULL,
	workspaces text             NOT NULL,
	created    bigint           NOT NULL,
	expires    bigint           NOT NULL,
	last_used  bigint           NOT NULL,
	revoked    bigint           NOT NULL
);
CREATE INDEX tokens_by_owner ON tokens (owner, created, id);
CREATE INDEX tokens_by_age ON tokens (created, id);

CREATE TABLE links (
	secret  bytea            PRIMARY KEY,
	owner   text COLLATE "C" NOT NULL REFERENCES users (id),
	purpose text             NOT NULL,
	created bigint           NOT NULL,
	expires bigint           NOT NULL,
	used    bigint           NOT NULL
);
CREATE INDEX links_by_end ON links (expires);

CREATE TABLE factors (
	id        text COLLATE "C" PRIMARY KEY,
	owner     text COLLATE "C" NOT NULL REFERENCES users (id),
	kind      text             NOT NULL,
	name      text             NOT NULL,
	handle    text             NOT NULL,
	data      bytea            NOT NULL,
	counter   bigint           NOT NULL,
	created   bigint           NOT NULL,
	last_used bigint           NOT NULL
);
CREATE UNIQUE INDEX factors_by_handle ON factors (handle) WHERE handle <> '';
CREATE INDEX factors_by_owner ON factors (owner, created, id);

CREATE TABLE workspaces (
	id       text COLLATE "C" PRIMARY KEY,
	owner    text COLLATE "C" NOT NULL REFERENCES users (id),
	name     text             NOT NULL,
	root     text             NOT NULL,
	path     text             NOT NULL,
	created  bigint           NOT NULL,
	archived bigint           NOT NULL
);
CREATE UNIQUE INDEX workspaces_by_name ON workspaces (owner, name) WHERE archived = 0;
CREATE INDEX workspaces_by_owner ON workspaces (owner, created, id);
CREATE INDEX workspaces_by_age ON workspaces (created, id);

CREATE TABLE runs (
	id            text COLLATE "C" PRIMARY KEY,
	owner         text COLLATE "C" NOT NULL,
	principal     text             NOT NULL,
	workspace     text             NOT NULL,
	state         text             NOT NULL,
	priority      bigint           NOT NULL,
	needs         text             NOT NULL,
	label         text             NOT NULL,
	envelope      bytea            NOT NULL,
	retry_of      text             NOT NULL,
	key           text             NOT NULL,
	request       text             NOT NULL,
	created       bigint           NOT NULL,
	worker        text             NOT NULL,
	fence         bigint           NOT NULL,
	claimed       bigint           NOT NULL,
	started       bigint           NOT NULL,
	settled       bigint           NOT NULL,
	cancel        bigint           NOT NULL,
	cancel_by     text             NOT NULL,
	cancel_why    text             NOT NULL,
	outcome       bytea            NOT NULL,
	stdout_bytes  bigint           NOT NULL,
	stderr_bytes  bigint           NOT NULL,
	stdout_digest text             NOT NULL,
	stderr_digest text             NOT NULL,
	events        bigint           NOT NULL,
	keep_until    bigint           NOT NULL,
	pruned        bigint           NOT NULL,
	revision      bigint           NOT NULL
);
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
	nonce text   PRIMARY KEY,
	run   text   NOT NULL,
	used  bigint NOT NULL
);

-- Who changes a row here goes alone until his transaction ends.
CREATE TABLE turns (
	name  text   PRIMARY KEY,
	taken bigint NOT NULL
);
INSERT INTO turns (name, taken) VALUES ('admins', 0), ('claims', 0);

CREATE TABLE workers (
	id          text COLLATE "C" PRIMARY KEY,
	name        text             NOT NULL,
	credential  bytea            NOT NULL UNIQUE,
	labels      text             NOT NULL,
	capacity    bigint           NOT NULL,
	mode        text             NOT NULL,
	epoch       bigint           NOT NULL,
	beat        bigint           NOT NULL,
	last_seen   bigint           NOT NULL,
	lease_until bigint           NOT NULL,
	lost_after  bigint           NOT NULL,
	version     text             NOT NULL,
	created     bigint           NOT NULL,
	removed     bigint           NOT NULL
);
CREATE UNIQUE INDEX workers_by_name ON workers (name) WHERE removed = 0;
CREATE INDEX workers_by_age ON workers (created, id);

CREATE TABLE approvals (
	id      text COLLATE "C" PRIMARY KEY,
	run     text             NOT NULL,
	owner   text COLLATE "C" NOT NULL,
	ask     bytea            NOT NULL,
	created bigint           NOT NULL,
	expires bigint           NOT NULL,
	closed  bigint           NOT NULL,
	state   text             NOT NULL
);
CREATE INDEX approvals_by_age ON approvals (created, id);
CREATE INDEX approvals_by_owner ON approvals (owner, created, id);
CREATE INDEX approvals_by_state ON approvals (state, created, id);

CREATE TABLE votes (
	approval text    NOT NULL REFERENCES approvals (id),
	key      text    NOT NULL,
	approve  boolean NOT NULL,
	envelope bytea   NOT NULL,
	created  bigint  NOT NULL,
	PRIMARY KEY (approval, key)
);
