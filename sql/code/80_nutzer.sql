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

-- What makes two login names or addresses the same (D3.18): compatibility forms, case, surrounding and repeated blanks.
create or replace function private.to_account_key(value text)
  returns text
  language sql
  immutable
  parallel safe
as $$
  select regexp_replace(btrim(lower(upper(lower(normalize(value, nfkc)))), E' \t'), '\s+', ' ', 'g')
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

-- Tokens die with a new password and with blocking (D3.16), also when an operator does it by SQL.
create or replace function private.nutzer_after_update()
  returns trigger
  language plpgsql
  volatile
  security definer
  set search_path = ''
as $$
begin
  if new.password_hash is distinct from old.password_hash or (new.status = 0 and old.status <> 0) then
    delete from portal.token t where t.nutzer_id = new.id;
  end if;
  return null;
end
$$;

-- Who a request comes from.
--   loginname   as sent in X-Auth-User
--   token_hash  SHA-256 of X-Auth-Token
--   ttl_days    lifetime of a token after its last use (TOKEN_TTL_DAYS)
-- returns       id of the account; null when name, token or their combination is wrong, expired or blocked
create or replace function api.get_reader(loginname text, token_hash bytea, ttl_days integer)
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
  -- Once an hour is enough for a lifetime counted in days, and spares every request a write.
  if v_genutzt < now() - interval '1 hour' then
    update portal.token t set genutzt = now() where t.hash = token_hash;
  end if;
  return v_reader;
end
$$;
comment on function api.get_reader(text, bytea, integer) is
  'Account of a login name together with the SHA-256 of one of its access keys; null when they do not belong together';

create or replace function api.get_login(loginname text)
  returns table (id bigint, name text, loginname_out text, password_hash text, status smallint)
  language sql
  stable
as $$
  select u.id, private.to_shown_name(u.vorname, u.nachname, false), u.loginname, u.password_hash, u.status
  from portal.nutzer u
  where u.loginname_key = private.to_account_key(get_login.loginname)
$$;
comment on function api.get_login(text) is 'What the password check of a login needs; no row for an unknown name';

create or replace function api.create_token(nutzer_id bigint, hash bytea)
  returns void
  language sql
  volatile
as $$
  insert into portal.token (hash, nutzer_id)
  select create_token.hash, u.id from portal.nutzer u where u.id = create_token.nutzer_id and u.status = 1
$$;
comment on function api.create_token(bigint, bytea) is 'Stores the SHA-256 of a new access key of an account that is not blocked';

-- errors  NTZER (column loginname or email) taken; 23503 unknown group
create or replace function api.create_nutzer(
  loginname text, email text, vorname text, nachname text, anonymisiert integer, rolle text, artengruppen integer[], password_hash text)
  returns bigint
  language plpgsql
  volatile
as $$
declare
  v_id bigint;
begin
  -- Names and addresses are given out one after the other, as in registration.
  perform pg_advisory_xact_lock(25832, 2);
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
comment on function api.create_nutzer(text, text, text, text, integer, text, integer[], text) is
  'Creates an account; rolle null, expert or administrator; password_hash as made by the service';

-- returns  false when there is no such account
create or replace function api.set_password_hash(loginname text, password_hash text)
  returns boolean
  language plpgsql
  volatile
as $$
begin
  update portal.nutzer u
  set password_hash = set_password_hash.password_hash
  where u.loginname_key = private.to_account_key(set_password_hash.loginname);
  return found;
end
$$;
comment on function api.set_password_hash(text, text) is 'Gives an account a new password; its access keys die. False: no such account';

-- returns  false when there is no such account
create or replace function api.set_nutzer_status(loginname text, status integer)
  returns boolean
  language plpgsql
  volatile
as $$
begin
  update portal.nutzer u
  set status = set_nutzer_status.status
  where u.loginname_key = private.to_account_key(set_nutzer_status.loginname);
  return found;
end
$$;
comment on function api.set_nutzer_status(text, integer) is 'Blocks (0) or activates (1) an account. False: no such account';

create or replace function api.delete_token(hash bytea)
  returns void
  language sql
  volatile
as $$
  delete from portal.token t where t.hash = delete_token.hash
$$;
comment on function api.delete_token(bytea) is 'Ends the access key with this SHA-256, at logout';
