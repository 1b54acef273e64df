-- name: AddUser :exec
INSERT INTO users (id, name, role, password, disabled, created, changed, revision) VALUES ($1, $2, $3, $4, $5, $6, $7, $8);

-- name: CountUsers :one
SELECT count(*) FROM users;

-- name: CountAdmins :one
SELECT count(*) FROM users WHERE role = 'admin' AND NOT disabled;

-- name: User :one
SELECT * FROM users WHERE id = sqlc.arg(id);

-- name: UserNamed :one
SELECT * FROM users WHERE name = sqlc.arg(name);

-- name: Users :many
SELECT * FROM users WHERE created <= sqlc.arg(created) AND (created < sqlc.arg(created) OR id < sqlc.arg(id)) ORDER BY created DESC, id DESC LIMIT sqlc.arg(most);

-- name: ChangeUser :one
UPDATE users SET name = sqlc.arg(name), role = sqlc.arg(role), password = sqlc.arg(password), disabled = sqlc.arg(disabled), changed = sqlc.arg(changed), revision = revision + 1
WHERE id = sqlc.arg(id) AND revision = sqlc.arg(revision) RETURNING *;

-- name: AddIdentity :exec
INSERT INTO identities (issuer, subject, owner, label, created, last_used) VALUES ($1, $2, $3, $4, $5, $6);

-- name: SeeIdentity :one
UPDATE identities SET last_used = sqlc.arg(now) WHERE issuer = sqlc.arg(issuer) AND subject = sqlc.arg(subject) RETURNING *;

-- name: Identities :many
SELECT * FROM identities WHERE owner = sqlc.arg(owner) ORDER BY created, issuer, subject;

-- name: RemoveIdentity :execrows
DELETE FROM identities WHERE owner = sqlc.arg(owner) AND issuer = sqlc.arg(issuer) AND subject = sqlc.arg(subject);

-- name: AddFactor :exec
INSERT INTO factors (id, owner, kind, name, handle, data, counter, created, last_used) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9);

-- name: Factor :one
SELECT * FROM factors WHERE owner = sqlc.arg(owner) AND id = sqlc.arg(id);

-- name: Factors :many
SELECT * FROM factors WHERE owner = sqlc.arg(owner) ORDER BY created, id;

-- name: FactorByHandle :one
SELECT * FROM factors WHERE handle = sqlc.arg(handle) AND handle <> '';

-- name: UseFactor :execrows
UPDATE factors SET counter = sqlc.arg(counter), data = sqlc.arg(data), last_used = sqlc.arg(now)
WHERE owner = sqlc.arg(owner) AND id = sqlc.arg(id) AND (counter < sqlc.arg(counter) OR (counter = 0 AND sqlc.arg(counter) = 0));

-- name: RemoveFactor :execrows
DELETE FROM factors WHERE owner = sqlc.arg(owner) AND id = sqlc.arg(id);
