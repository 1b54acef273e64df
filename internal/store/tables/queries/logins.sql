-- name: AddInvitation :exec
INSERT INTO invitations (id, code, role, invitee, owner, created, expires, used_by, used) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9);

-- name: Invitation :one
SELECT * FROM invitations WHERE code = sqlc.arg(code) AND used = 0 AND expires > sqlc.arg(now);

-- name: UseInvitation :one
UPDATE invitations SET used = sqlc.arg(now), used_by = sqlc.arg(used_by)
WHERE code = sqlc.arg(code) AND used = 0 AND expires > sqlc.arg(now) RETURNING *;

-- name: Invitations :many
SELECT * FROM invitations WHERE (owner = sqlc.arg(owner) OR CAST(sqlc.arg(everyone) AS boolean))
AND created <= sqlc.arg(created) AND (created < sqlc.arg(created) OR id < sqlc.arg(id)) ORDER BY created DESC, id DESC LIMIT sqlc.arg(most);

-- name: RemoveInvitation :execrows
DELETE FROM invitations WHERE id = sqlc.arg(id) AND used = 0 AND (owner = sqlc.arg(owner) OR CAST(sqlc.arg(everyone) AS boolean));

-- name: ForgetInvitations :execrows
DELETE FROM invitations WHERE id IN (SELECT i.id FROM invitations i WHERE i.used = 0 AND i.expires < sqlc.arg(before) ORDER BY i.expires LIMIT sqlc.arg(most));

-- name: AddSession :exec
INSERT INTO sessions (id, secret, owner, device, address, created, last_seen, expires, proven, revoked) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10);

-- name: Session :one
SELECT sqlc.embed(sessions), sqlc.embed(users) FROM sessions JOIN users ON users.id = sessions.owner
WHERE sessions.secret = sqlc.arg(secret) AND sessions.revoked = 0 AND sessions.expires > sqlc.arg(now) AND NOT users.disabled;

-- name: SeeSession :execrows
UPDATE sessions SET last_seen = sqlc.arg(now) WHERE id = sqlc.arg(id) AND revoked = 0 AND last_seen <= sqlc.arg(now);

-- name: RotateSession :execrows
UPDATE sessions SET secret = sqlc.arg(fresh), proven = sqlc.arg(proven), last_seen = sqlc.arg(now)
WHERE secret = sqlc.arg(secret) AND revoked = 0 AND expires > sqlc.arg(now);

-- name: Sessions :many
SELECT * FROM sessions WHERE owner = sqlc.arg(owner) AND revoked = 0 AND expires > sqlc.arg(now) ORDER BY created DESC, id DESC LIMIT sqlc.arg(most);

-- name: EndSession :execrows
UPDATE sessions SET revoked = sqlc.arg(now) WHERE id = sqlc.arg(id) AND owner = sqlc.arg(owner) AND revoked = 0;

-- name: EndSessions :execrows
UPDATE sessions SET revoked = sqlc.arg(now) WHERE owner = sqlc.arg(owner) AND id <> sqlc.arg(but) AND revoked = 0;

-- name: ForgetSessions :execrows
DELETE FROM sessions WHERE id IN (SELECT s.id FROM sessions s WHERE s.expires < sqlc.arg(before) ORDER BY s.expires LIMIT sqlc.arg(most));

-- name: AddToken :exec
INSERT INTO tokens (id, secret, prefix, name, owner, scopes, workspaces, created, expires, last_used, revoked) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11);

-- name: Token :one
SELECT sqlc.embed(tokens), sqlc.embed(users) FROM tokens JOIN users ON users.id = tokens.owner
WHERE tokens.secret = sqlc.arg(secret) AND tokens.revoked = 0 AND tokens.expires > sqlc.arg(now) AND NOT users.disabled;

-- name: SeeToken :execrows
UPDATE tokens SET last_used = sqlc.arg(now) WHERE id = sqlc.arg(id) AND revoked = 0 AND last_used <= sqlc.arg(now);

-- name: Tokens :many
SELECT * FROM tokens WHERE (owner = sqlc.arg(owner) OR CAST(sqlc.arg(everyone) AS boolean))
AND created <= sqlc.arg(created) AND (created < sqlc.arg(created) OR id < sqlc.arg(id)) ORDER BY created DESC, id DESC LIMIT sqlc.arg(most);

-- name: RevokeToken :execrows
UPDATE tokens SET revoked = sqlc.arg(now) WHERE id = sqlc.arg(id) AND revoked = 0 AND (owner = sqlc.arg(owner) OR CAST(sqlc.arg(everyone) AS boolean));

-- name: AddLink :exec
INSERT INTO links (secret, owner, purpose, created, expires, used) VALUES ($1, $2, $3, $4, $5, $6);

-- name: UseLink :one
UPDATE links SET used = sqlc.arg(now) WHERE secret = sqlc.arg(secret) AND used = 0 AND expires > sqlc.arg(now)
AND EXISTS (SELECT 1 FROM users u WHERE u.id = links.owner AND NOT u.disabled) RETURNING *;

-- name: ForgetLinks :execrows
DELETE FROM links WHERE secret IN (SELECT l.secret FROM links l WHERE l.expires < sqlc.arg(before) ORDER BY l.expires LIMIT sqlc.arg(most));
