-- Accounts, rights and access keys.

-- Whether an account that is not blocked has a role.
create or replace function private.has_rolle(reader bigint, rolle portal.rolle)
  returns boolean
  language plpgsql
  stable
as $$
begin
  return exists (
    select
    from portal.nutzer u
    join portal.nutzer_rolle r on r.nutzer_id = u.id
    where u.id = reader and u.status = 1 and r.rolle = has_rolle.rolle);
end
$$;

-- Whether an expert's restriction, if there is one, allows a group (D3.3).
create or replace function private.is_expert_for(reader bigint, gid integer)
  returns boolean
  language plpgsql
  stable
as $$
begin
  return not exists (select from portal.nutzer_artengruppe a where a.nutzer_id = reader)
    or exists (select from portal.nutzer_artengruppe a where a.nutzer_id = reader and a.gid = is_expert_for.gid);
end
$$;

-- Experts, also those restricted to groups, and administrators see true places and full names (D4, D2.19).
--   reader  account, null for anonymous
create or replace function private.is_exempt(reader bigint)
  returns boolean
  language plpgsql
  stable
as $$
begin
  return reader is not null and (private.has_rolle(reader, 'expert') or private.has_rolle(reader, 'administrator'));
end
$$;

-- The name of a recorder or expert; anonymised ones by their initials (D2.19). A letter keeps its combining marks.
-- Stable, because concat_ws is: otherwise it would not be inlined (0.25 ms a page).
create or replace function private.to_shown_name(vorname text, nachname text, anonymous boolean)
  returns text
  language sql
  stable
  parallel safe
as $$
  select case when anonymous
    then concat_ws(' ',
      substring(normalize(vorname, nfc) from '^.[\u0300-\u036f\u1ab0-\u1aff\u20d0-\u20ff\ufe0f]*') || '…',
      substring(normalize(nachname, nfc) from '^.[\u0300-\u036f\u1ab0-\u1aff\u20d0-\u20ff\ufe0f]*') || '…')
    else concat_ws(' ', nullif(vorname, ''), nullif(nachname, '')) end
$$;

-- What makes two login names or addresses the same (D3.18): compatibility forms, case, surrounding and repeated blanks. Null for
-- what is too long to be either: putting a long run of combining marks in order takes the square of its length, and nothing
-- ends a backend that is busy with it.
create or replace function private.to_account_key(value text)
  returns text
  language sql
  immutable
  parallel safe
as $$
  select case when octet_length(value) <= 2000 then
    regexp_replace(btrim(lower(upper(lower(normalize(value, nfkc)))), E' \t'), '\s+', ' ', 'g') end
$$;

create or replace function private.nutzer_before_write()
  returns trigger
  language plpgsql
  volatile
  security definer
  set search_path = ''
as $$
begin
  new.loginname_key := private.to_account_key(new.loginname);
  new.email_key := private.to_account_key(nullif(new.email, ''));
  return new;
end
$$;

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

-- errors  NTZER (column loginname or email) taken; 23503 unknown group
create or replace function api.create_nutzer(
  loginname portal.kurztext, email portal.kurztext, vorname portal.kurztext, nachname portal.kurztext, anonymisiert integer,
  rolle portal.kurztext, artengruppen integer[], password_hash portal.kurztext)
  returns bigint
  language plpgsql
  volatile
as $$
declare
  v_id bigint;
begin
  perform private.require_account_lock();
  if exists (select from portal.nutzer u where u.loginname_key = private.to_account_key(create_nutzer.loginname)) then
    raise exception 'login name is taken' using errcode = 'NTZER', column = 'loginname';
  end if;
  if exists (select from portal.nutzer u where u.email_key = private.to_account_key(create_nutzer.email)) then
    raise exception 'address is taken' using errcode = 'NTZER', column = 'email';
  end if;
  insert into portal.nutzer (loginname, email, vorname, nachname, anonymisiert, password_hash)
  values (create_nutzer.loginname, create_nutzer.email, create_nutzer.vorname, create_nutzer.nachname,
    create_nutzer.anonymisiert, create_nutzer.password_hash)
  returning id into v_id;
  insert into portal.nutzer_rolle (nutzer_id, rolle)
  select v_id, create_nutzer.rolle::portal.rolle where create_nutzer.rolle is not null;
  insert into portal.nutzer_artengruppe (nutzer_id, gid)
  select distinct v_id, g from unnest(artengruppen) g;
  return v_id;
end
$$;
comment on function api.create_nutzer(portal.kurztext, portal.kurztext, portal.kurztext, portal.kurztext, integer, portal.kurztext, integer[], portal.kurztext) is
  'Creates an account; rolle null, expert or administrator; password_hash as made by the service';

-- What an import of accounts holds.
--   rows  JSON array of objects: zeile, loginname, email, vorname, nachname, anonymisiert, rolle, artengruppen (array of ids)
create or replace function private.list_nutzer_import(rows portal.dokument)
  returns table (
    zeile integer, loginname text, email text, vorname text, nachname text, anonymisiert integer, rolle portal.rolle,
    artengruppen integer[], loginname_key text, email_key text)
  language sql
  stable
as $$
  select r.*, private.to_account_key(r.loginname), private.to_account_key(r.email)
  from json_to_recordset(rows::json) r (
    zeile integer, loginname text, email text, vorname text, nachname text, anonymisiert integer, rolle portal.rolle,
    artengruppen integer[])
$$;

-- What speaks against an import of accounts; keeps others from being made until the end of the transaction. An account that has the
-- same login name and address is the same account, and nothing speaks against it.
--   rows    as in private.list_nutzer_import
-- returns   zeile; code: NTZER login name or address (spalte) is taken, by an account or, then bezug names it, by an earlier line;
--           GRUPP unknown group (bezug)
create or replace function api.list_nutzer_import_fehler(rows portal.dokument)
  returns table (zeile integer, code text, spalte text, bezug integer)
  language plpgsql
  volatile
as $$
#variable_conflict use_column
begin
  perform private.require_account_lock();
  return query
  with r as materialized (select l.* from private.list_nutzer_import(rows) l)
  select r.zeile, 'NTZER', 'loginname', null::integer
  from r
  join portal.nutzer u on u.loginname_key = r.loginname_key
  where u.email_key is distinct from r.email_key
  union all
  select r.zeile, 'NTZER', 'email', null
  from r
  join portal.nutzer u on u.email_key = r.email_key
  where u.loginname_key <> r.loginname_key
  union all
  select d.zeile, 'NTZER', 'loginname', d.erste
  from (select r.zeile, min(r.zeile) over (partition by r.loginname_key) as erste from r) d
  where d.zeile <> d.erste
  union all
  select d.zeile, 'NTZER', 'email', d.erste
  from (select r.zeile, min(r.zeile) over (partition by r.email_key) as erste from r where r.email_key is not null) d
  where d.zeile <> d.erste
  union all
  select r.zeile, 'GRUPP', 'artengruppen', g
  from r, unnest(r.artengruppen) g
  where not exists (select from portal.artengruppe a where a.id = g)
  order by 1, 3;
end
$$;
comment on function api.list_nutzer_import_fehler(portal.dokument) is
  'What speaks against an import of accounts, by line; no others are made until the end of the transaction';

-- Stores the accounts of an import that nothing speaks against, without a password: each sets its own by the link in a mail.
-- returns  how many; the others were there already
create or replace function api.create_nutzer_of_import(rows portal.dokument)
  returns bigint
  language plpgsql
  volatile
as $$
#variable_conflict use_column
declare
  v_count bigint;
begin
  with r as materialized (
    select l.* from private.list_nutzer_import(rows) l
    where not exists (select from portal.nutzer u where u.loginname_key = l.loginname_key)
  ),
  angelegt as (
    insert into portal.nutzer (loginname, email, vorname, nachname, anonymisiert)
    select r.loginname, r.email, r.vorname, r.nachname, r.anonymisiert from r order by r.zeile
    returning id, loginname_key
  ),
  rollen as (
    insert into portal.nutzer_rolle (nutzer_id, rolle)
    select a.id, r.rolle from angelegt a join r using (loginname_key) where r.rolle is not null
  ),
  gruppen as (
    insert into portal.nutzer_artengruppe (nutzer_id, gid)
    select distinct a.id, g from angelegt a join r using (loginname_key), unnest(r.artengruppen) g
  )
  select count(*) into v_count from angelegt;
  return v_count;
end
$$;
comment on function api.create_nutzer_of_import(portal.dokument) is
  'Stores the accounts of an import that are not there yet, without a password; returns how many';

-- returns  false when there is no such account
create or replace function api.set_password_hash(loginname portal.kurztext, password_hash portal.kurztext)
  returns boolean
  language plpgsql
  volatile
as $$
begin
  update portal.nutzer u
  set password_hash = set_password_hash.password_hash
  where u.loginname_key = private.to_account_key(set_password_hash.loginname) and u.loeschung is null;
  return found;
end
$$;
comment on function api.set_password_hash(portal.kurztext, portal.kurztext) is 'Gives an account a new password; its access keys die. False: no such account';

-- Fails when an account is the only active administrator: without one nobody could administer the portal (D3.19). Under the account lock.
-- errors  LADMN
create or replace function private.require_other_administrator(nutzer_id bigint)
  returns void
  language plpgsql
  stable
as $$
begin
  if private.has_rolle(nutzer_id, 'administrator') and not exists (
    select
    from portal.nutzer u
    join portal.nutzer_rolle r on r.nutzer_id = u.id
    where r.rolle = 'administrator' and u.status = 1 and u.id <> require_other_administrator.nutzer_id) then
    raise exception 'no administrator would be left' using errcode = 'LADMN';
  end if;
end
$$;

-- returns  false when there is no such account
-- errors   LADMN the last active administrator would be blocked
create or replace function api.set_nutzer_status(loginname portal.kurztext, status integer)
  returns boolean
  language plpgsql
  volatile
as $$
declare
  v_id bigint;
begin
  perform private.require_account_lock();
  select u.id into v_id
  from portal.nutzer u
  where u.loginname_key = private.to_account_key(set_nutzer_status.loginname) and u.loeschung is null
  for no key update;
  if not found then
    return false;
  end if;
  if set_nutzer_status.status = 0 then
    perform private.require_other_administrator(v_id);
  end if;
  update portal.nutzer u set status = set_nutzer_status.status where u.id = v_id;
  return true;
end
$$;
comment on function api.set_nutzer_status(portal.kurztext, integer) is
  'Blocks (0) or activates (1) an account; fails for the last active administrator. False: no such account';

create or replace function api.delete_token(hash bytea)
  returns void
  language sql
  volatile
as $$
  delete from portal.token t where t.hash = delete_token.hash
$$;
comment on function api.delete_token(bytea) is 'Ends the access key with this SHA-256, at logout';
