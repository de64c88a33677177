-- Access keys: how long they live, what ends them, and what a login needs.

-- Every key to an account ends with its password, address or status (D3.16, D6.11), also when an operator changes them by SQL:
-- access keys, and the links that mails to the old address carried. A new password also ends the count of wrong ones.
create or replace function private.nutzer_after_update()
  returns trigger
  language plpgsql
  volatile
  security definer
  set search_path = ''
as $$
begin
  if (new.password_hash, new.email_key, new.status) is distinct from (old.password_hash, old.email_key, old.status) then
    delete from portal.token t where t.nutzer_id = new.id;
    delete from portal.nutzer_link l where l.nutzer_id = new.id;
    delete from portal.nutzer_daten_link l where l.nutzer_id = new.id;
    delete from portal.sichtbeobachtung_link l where l.nutzer_id = new.id;
  end if;
  if new.email_key is distinct from old.email_key then
    update portal.mitteilung m set abgelehnt = null where m.nutzer_id = new.id and m.abgelehnt is not null;
  end if;
  if new.password_hash is distinct from old.password_hash then
    perform private.delete_login_versuch(new.id);
  end if;
  return null;
end
$$;

-- Who a request comes from.
--   loginname   as sent in X-Auth-User
--   token_hash  SHA-256 of X-Auth-Token
--   ttl_days    lifetime of a token after its last use (TOKEN_TTL_DAYS)
-- returns       id of the account; null when name, token or their combination is wrong, expired or blocked
create or replace function api.get_reader(loginname portal.kurztext, token_hash bytea, ttl_days integer)
  returns bigint
  language plpgsql
  volatile
as $$
declare
  v_reader bigint;
  v_genutzt timestamptz;
begin
  select u.id, t.genutzt into v_reader, v_genutzt
  from portal.token t
  join portal.nutzer u on u.id = t.nutzer_id
  where t.hash = token_hash and u.status = 1 and u.loginname_key = private.to_account_key(get_reader.loginname)
    and t.genutzt > now() - make_interval(days => ttl_days);
  -- Once an hour is enough for a lifetime counted in days, and spares every request a write. A database that can't be written to can
  -- still be read.
  if v_genutzt < now() - interval '1 hour' and current_setting('transaction_read_only') = 'off' then
    update portal.token t set genutzt = now() where t.hash = token_hash;
  end if;
  return v_reader;
end
$$;
comment on function api.get_reader(portal.kurztext, bytea, integer) is
  'Account of a login name together with the SHA-256 of one of its access keys; null when they do not belong together';

-- The account that writes, if the key that it came with is still one: the body of a request may take minutes, and what it asks for
-- may wait its turn. Asked in the statement that writes, so that nothing lies between (D6.11).
--   token_hash  SHA-256 of the key; null for what is no request
-- returns       reader
-- errors        ANMLD the key has ended, with the account's password, address or status, or by logging out
create or replace function api.require_reader(reader bigint, token_hash bytea)
  returns bigint
  language plpgsql
  volatile
as $$
begin
  if token_hash is not null
    and not exists (select from portal.token t where t.hash = token_hash and t.nutzer_id = reader)
  then
    raise exception 'the key has ended' using errcode = 'ANMLD';
  end if;
  return reader;
end
$$;
comment on function api.require_reader(bigint, bytea) is
  'The account, if this is (still) the SHA-256 of one of its access keys; fails with ANMLD otherwise';

-- What every key to an account ends with when it changes (D6.11): its password, its address and its status, as a hash that tells none of
-- them. Whoever goes on reading for long asks whether it is still the one with which they were let in.
-- returns  null for no account
create or replace function api.get_zugangsstand(nutzer_id bigint)
  returns bytea
  language sql
  stable
as $$
  select sha256(convert_to(json_build_array(u.password_hash, u.email_key, u.status)::text, 'UTF8'))
  from portal.nutzer u
  where u.id = get_zugangsstand.nutzer_id
$$;
comment on function api.get_zugangsstand(bigint) is
  'Hash of what all keys to an account end with: its password, address and status; null for no account';

-- The account whose data are read, if they are still to be had by whoever was let in. An argument of the call that reads, so that nothing
-- lies between.
--   stand    of api.get_zugangsstand when they were let in; null for an operator
-- returns    nutzer_id
-- errors     ANMLD the account's password, address or status changed
create or replace function api.require_zugangsstand(nutzer_id bigint, stand bytea)
  returns bigint
  language plpgsql
  stable
as $$
begin
  if stand is not null and stand is distinct from api.get_zugangsstand(nutzer_id) then
    raise exception 'the account has other keys' using errcode = 'ANMLD';
  end if;
  return nutzer_id;
end
$$;
comment on function api.require_zugangsstand(bigint, bytea) is
  'The account, if this is (still) its hash of api.get_zugangsstand; fails with ANMLD otherwise';

-- Stores a new access key, unless somebody changed the account's password, address or status since its password was verified:
-- the account is locked while it is compared, so that a change either is seen here or ends this key too. With it what a right
-- password does to the counts of wrong ones.
--   nutzer_id      whose password was right
--   hash           SHA-256 of the key
--   password_hash  the stored hash that it was right for
--   netz           network of the client
-- returns            false: no key, the password is not the account's any more, or it is blocked
create or replace function api.create_token(
  nutzer_id bigint, hash bytea, password_hash portal.kurztext, netz portal.kurztext)
  returns boolean
  language plpgsql
  volatile
as $$
#variable_conflict use_column
begin
  perform from portal.nutzer u
  where u.id = create_token.nutzer_id and u.status = 1 and u.password_hash = create_token.password_hash
  for share;
  if not found then
    return false;
  end if;
  insert into portal.token (hash, nutzer_id) values (create_token.hash, create_token.nutzer_id);
  -- Many, but not without end. Far more than anybody has: when a key was used is known to the hour only.
  delete from portal.token t
  where t.hash = any (array(
    select o.hash from portal.token o where o.nutzer_id = create_token.nutzer_id order by o.genutzt desc, o.hash offset 10000));
  perform private.forgive_login(create_token.nutzer_id, create_token.netz);
  perform private.set_nutzer_netz(create_token.nutzer_id, create_token.netz);
  return true;
end
$$;
comment on function api.create_token(bigint, bytea, portal.kurztext, portal.kurztext) is
  'Stores the SHA-256 of a new access key of an account whose password was verified; false when the password has changed since';

create or replace function api.get_login(loginname portal.kurztext)
  returns table (id bigint, name text, loginname_out text, password_hash text, status smallint)
  language sql
  stable
as $$
  select u.id, private.to_shown_name(u.vorname, u.nachname, false), u.loginname, u.password_hash, u.status
  from portal.nutzer u
  where u.loginname_key = private.to_account_key(get_login.loginname)
$$;
comment on function api.get_login(portal.kurztext) is 'What the password check of a login needs; no row for an unknown name';

create or replace function api.delete_token(hash bytea)
  returns void
  language sql
  volatile
as $$
  delete from portal.token t where t.hash = delete_token.hash
$$;
comment on function api.delete_token(bytea) is 'Ends the access key with this SHA-256, at logout';
