-- name: AddWorkspace :exec
INSERT INTO workspaces (id, owner, name, root, path, created, archived) VALUES ($1, $2, $3, $4, $5, $6, $7);

-- name: Workspace :one
SELECT * FROM workspaces WHERE id = sqlc.arg(id) AND (owner = sqlc.arg(owner) OR CAST(sqlc.arg(everyone) AS boolean));

-- name: WorkspaceNamed :one
SELECT * FROM workspaces WHERE owner = sqlc.arg(owner) AND name = sqlc.arg(name) AND archived = 0;

-- name: Workspaces :many
SELECT * FROM workspaces WHERE (owner = sqlc.arg(owner) OR CAST(sqlc.arg(everyone) AS boolean))
AND created <= sqlc.arg(created) AND (created < sqlc.arg(created) OR id < sqlc.arg(id)) ORDER BY created DESC, id DESC LIMIT sqlc.arg(most);

-- name: ArchiveWorkspace :execrows
UPDATE workspaces SET archived = sqlc.arg(now) WHERE id = sqlc.arg(id) AND archived = 0 AND (owner = sqlc.arg(owner) OR CAST(sqlc.arg(everyone) AS boolean));

-- name: AddRun :execrows
INSERT INTO runs (id, owner, principal, workspace, state, priority, needs, label, envelope, retry_of, key, request, created,
	worker, fence, claimed, started, settled, cancel, cancel_by, cancel_why, outcome,
	stdout_bytes, stderr_bytes, stdout_digest, stderr_digest, events, keep_until, pruned, revision)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, '', 0, 0, 0, 0, 0, '', '', $14, 0, 0, '', '', 0, 0, 0, 1)
ON CONFLICT (owner, key) WHERE key <> '' DO NOTHING;

-- name: UseNonce :execrows
INSERT INTO nonces (nonce, run, used) VALUES (sqlc.arg(nonce), sqlc.arg(run), sqlc.arg(now)) ON CONFLICT (nonce) DO NOTHING;

-- name: ForgetNonces :execrows
DELETE FROM nonces WHERE nonce IN (SELECT n.nonce FROM nonces n WHERE n.used < sqlc.arg(before) LIMIT sqlc.arg(most));

-- name: Run :one
SELECT * FROM runs WHERE id = sqlc.arg(id) AND (owner = sqlc.arg(owner) OR CAST(sqlc.arg(everyone) AS boolean));

-- name: RunByKey :one
SELECT * FROM runs WHERE owner = sqlc.arg(owner) AND key = sqlc.arg(key) AND key <> '';

-- name: Runs :many
SELECT * FROM runs WHERE created <= sqlc.arg(created) AND (created < sqlc.arg(created) OR id < sqlc.arg(id)) ORDER BY created DESC, id DESC LIMIT sqlc.arg(most);

-- name: RunsOf :many
SELECT * FROM runs WHERE owner = sqlc.arg(owner) AND created <= sqlc.arg(created) AND (created < sqlc.arg(created) OR id < sqlc.arg(id)) ORDER BY created DESC, id DESC LIMIT sqlc.arg(most);

-- name: RunsIn :many
SELECT * FROM runs WHERE state = sqlc.arg(state) AND created <= sqlc.arg(created) AND (created < sqlc.arg(created) OR id < sqlc.arg(id)) ORDER BY created DESC, id DESC LIMIT sqlc.arg(most);

-- name: RunsOfIn :many
SELECT * FROM runs WHERE owner = sqlc.arg(owner) AND state = sqlc.arg(state) AND created <= sqlc.arg(created) AND (created < sqlc.arg(created) OR id < sqlc.arg(id)) ORDER BY created DESC, id DESC LIMIT sqlc.arg(most);

-- name: RunsAt :many
SELECT * FROM runs WHERE workspace = sqlc.arg(workspace) AND workspace <> ''
AND (owner = sqlc.arg(owner) OR CAST(sqlc.arg(everyone) AS boolean)) AND (state = sqlc.arg(state) OR CAST(sqlc.arg(any_state) AS boolean))
AND created <= sqlc.arg(created) AND (created < sqlc.arg(created) OR id < sqlc.arg(id)) ORDER BY created DESC, id DESC LIMIT sqlc.arg(most);

-- name: AdmitRun :one
UPDATE runs SET state = 'queued', envelope = sqlc.arg(envelope), revision = revision + 1 WHERE id = sqlc.arg(id) AND state = 'waiting' RETURNING *;

-- name: CancelUnclaimed :one
UPDATE runs SET state = sqlc.arg(state), outcome = sqlc.arg(outcome), settled = sqlc.arg(now), envelope = coalesce(substr(envelope, 1, 1), envelope), cancel = sqlc.arg(now), cancel_by = sqlc.arg(by), cancel_why = sqlc.arg(why), revision = revision + 1
WHERE id = sqlc.arg(id) AND state IN ('queued', 'waiting') AND (owner = sqlc.arg(owner) OR CAST(sqlc.arg(everyone) AS boolean)) RETURNING *;

-- name: CancelClaimed :one
UPDATE runs SET cancel = sqlc.arg(now), cancel_by = sqlc.arg(by), cancel_why = sqlc.arg(why), revision = revision + 1
WHERE id = sqlc.arg(id) AND fence > 0 AND settled = 0 AND cancel = 0 AND (owner = sqlc.arg(owner) OR CAST(sqlc.arg(everyone) AS boolean)) RETURNING *;

-- name: TurnRun :one
UPDATE runs SET state = sqlc.arg(state), outcome = sqlc.arg(outcome), settled = sqlc.arg(now), envelope = coalesce(substr(envelope, 1, 1), envelope), revision = revision + 1
WHERE id = sqlc.arg(id) AND state IN ('queued', 'waiting') RETURNING *;

-- name: KeepRun :execrows
UPDATE runs SET keep_until = sqlc.arg(until), revision = revision + 1 WHERE id = sqlc.arg(id) AND pruned = 0 AND (owner = sqlc.arg(owner) OR CAST(sqlc.arg(everyone) AS boolean));

-- name: PrunableRuns :many
SELECT id FROM runs WHERE settled > 0 AND settled < sqlc.arg(before) AND pruned = 0 AND keep_until <= sqlc.arg(now) ORDER BY settled, id LIMIT sqlc.arg(most);

-- name: PrunedRun :execrows
UPDATE runs SET pruned = sqlc.arg(now), revision = revision + 1 WHERE id = sqlc.arg(id) AND settled > 0 AND pruned = 0 AND keep_until <= sqlc.arg(now);

-- name: CountRuns :many
SELECT state, count(*) AS runs FROM runs WHERE state IN ('waiting', 'queued', 'starting', 'running', 'unreachable') GROUP BY state;
