-- What people do with their accounts: registration and lost passwords, reading and changing them.

-- Registers an account without a password (D3.18).
-- returns  the account to mail a link to, and whether it is the owner of the address instead, who is told about it
-- errors   NTZER (column loginname) the login name is taken or reserved
create or replace function api.register_nutzer(
  loginname portal.kurztext, email portal.kurztext, vorname portal.kurztext, nachname portal.kurztext, anonymisiert integer,
  portal_name portal.kurztext, portal_url portal.kurztext)
  returns table (nutzer_id bigint, is_new boolean)
  language plpgsql
  volatile
as $$
#variable_conflict use_column
declare
  v_loginname_key text := private.to_account_key(register_nutzer.loginname);
  v_email_key text := private.to_account_key(register_nutzer.email);
begin
  perform private.require_account_lock();
  -- What nobody confirmed for as long as a link lives is free again: name and address alike. Counted from the registration, however
  -- often a new link was mailed: a reserved name gets none, and would tell by its end that the address has an account.
  delete from portal.nutzer_reservierung r where r.angelegt < now() - interval '7 days';
  delete from portal.nutzer u
  where (u.loginname_key = v_loginname_key or u.email_key = v_email_key)
    and u.password_hash is null and u.registriert and u.angelegt < now() - interval '7 days'
    and not exists (select from portal.sichtbeobachtung s where s.nutzer_id = u.id);

  if exists (select from portal.nutzer u where u.loginname_key = v_loginname_key)
    or exists (select from portal.nutzer_reservierung r where r.loginname_key = v_loginname_key) then
    raise exception 'login name is taken' using errcode = 'NTZER', column = 'loginname';
  end if;
  select u.id into nutzer_id from portal.nutzer u where u.email_key = v_email_key;
  if found then
    insert into portal.nutzer_reservierung (loginname_key) values (v_loginname_key);
    is_new := false;
  else
    insert into portal.nutzer as u (loginname, email, vorname, nachname, anonymisiert, portal_name, portal_url, registriert)
    values (btrim(register_nutzer.loginname), register_nutzer.email, register_nutzer.vorname, register_nutzer.nachname,
      register_nutzer.anonymisiert, register_nutzer.portal_name, register_nutzer.portal_url, true)
    returning u.id into nutzer_id;
    is_new := true;
  end if;
  return next;
end
$$;
comment on function api.register_nutzer(portal.kurztext, portal.kurztext, portal.kurztext, portal.kurztext, integer, portal.kurztext, portal.kurztext) is
  'Registers an account without a password; a taken address is answered alike, with its owner to be told';

-- Whom a mail goes to. Null fields when the account has gone meanwhile.
create or replace function api.get_mail_nutzer(id bigint)
  returns table (loginname text, email text, name text, portal_name text, portal_url text)
  language sql
  stable
as $$
  select u.loginname, u.email, private.to_shown_name(u.vorname, u.nachname, false), u.portal_name, u.portal_url
  from portal.nutzer u
  where u.id = get_mail_nutzer.id and u.email is not null and u.status = 1
$$;
comment on function api.get_mail_nutzer(bigint) is 'Address and names for a mail to an account that is not blocked';

-- The account that asks for a new link, by login name or address; no row for unknown, blocked, or without an address.
create or replace function api.get_nutzer_of(loginname portal.kurztext, email portal.kurztext)
  returns table (id bigint, email_key text)
  language sql
  stable
as $$
  select u.id, u.email_key
  from portal.nutzer u
  where u.status = 1 and u.email is not null
    and (u.loginname_key = private.to_account_key(get_nutzer_of.loginname)
      or u.email_key = private.to_account_key(get_nutzer_of.email))
$$;
comment on function api.get_nutzer_of(portal.kurztext, portal.kurztext) is 'Account of a login name or an address, to which a new link may be mailed';

-- Stores a new one-time link, unless the account's address is another one by now: the mail would go to somebody else.
--   email    where the mail goes
-- returns      false: no link; the address has changed, or the account is blocked
create or replace function api.set_nutzer_link(nutzer_id bigint, hash bytea, email portal.kurztext)
  returns boolean
  language plpgsql
  volatile
as $$
#variable_conflict use_column
begin
  perform from portal.nutzer u
  where u.id = set_nutzer_link.nutzer_id and u.status = 1 and u.email = set_nutzer_link.email
  for share;
  if not found then
    return false;
  end if;
  insert into portal.nutzer_link as l (nutzer_id, hash) values (set_nutzer_link.nutzer_id, set_nutzer_link.hash)
  on conflict on constraint nutzer_link_pkey do update set hash = excluded.hash, angelegt = now();
  return true;
end
$$;
comment on function api.set_nutzer_link(bigint, bytea, portal.kurztext) is
  'Stores the SHA-256 of a one-time link to be mailed to this address, which must be the account''s; its earlier link ends';

create or replace function api.get_nutzer_link(hash bytea)
  returns text
  language sql
  stable
as $$
  select u.loginname
  from portal.nutzer_link l
  join portal.nutzer u on u.id = l.nutzer_id
  where l.hash = get_nutzer_link.hash and l.angelegt >= now() - interval '7 days' and u.status = 1
$$;
comment on function api.get_nutzer_link(bytea) is 'Login name that a one-time link belongs to; null when it is unknown, used or older than 7 days';

-- Sets a password by a one-time link.
--   netz     network of the client: whoever has the mail proved to be the owner, as by a login
-- returns      false when the link is unknown, used or older than 7 days, or the account blocked
create or replace function api.use_nutzer_link(hash bytea, password_hash portal.kurztext, netz portal.kurztext)
  returns boolean
  language plpgsql
  volatile
as $$
declare
  v_nutzer_id bigint;
begin
  -- The account before its link, in the order of everyone who changes both.
  select u.id into v_nutzer_id
  from portal.nutzer_link l
  join portal.nutzer u on u.id = l.nutzer_id
  where l.hash = use_nutzer_link.hash and u.status = 1
  for no key update of u;
  delete from portal.nutzer_link l
  where l.nutzer_id = v_nutzer_id and l.hash = use_nutzer_link.hash and l.angelegt >= now() - interval '7 days';
  if not found then
    return false;
  end if;
  update portal.nutzer u set password_hash = use_nutzer_link.password_hash where u.id = v_nutzer_id;
  perform private.set_nutzer_netz(v_nutzer_id, netz);
  return true;
end
$$;
comment on function api.use_nutzer_link(bytea, portal.kurztext, portal.kurztext) is
  'Sets a password by a one-time link and ends the link; false when it is unknown, used or older than 7 days';

-- One account with roles and restriction.
-- errors  NRCHT another account, unless the reader is administrator, whether it exists or not (D3.23); NFUND
create or replace function api.get_nutzer(reader bigint, id bigint)
  returns text
  language plpgsql
  stable
as $$
#variable_conflict use_column
declare
  v_result text;
begin
  if get_nutzer.id <> reader and not private.has_rolle(reader, 'administrator') then
    raise exception 'another account' using errcode = 'NRCHT';
  end if;
  select row_to_json(r)::text into v_result
  from portal.nutzer u,
    lateral (
      select u.id, u.loginname, u.email, u.vorname, u.nachname, u.anonymisiert, u.status,
        array(select x.rolle::text from portal.nutzer_rolle x where x.nutzer_id = u.id order by x.rolle::text) as rollen,
        array(select x.gid from portal.nutzer_artengruppe x where x.nutzer_id = u.id order by x.gid) as artengruppenbeschraenkung) r
  where u.id = get_nutzer.id and u.loeschung is null;
  if not found then
    raise exception 'no such account' using errcode = 'NFUND';
  end if;
  return '[' || v_result || ']';
end
$$;
comment on function api.get_nutzer(bigint, bigint) is 'One account as JSON text: the own one, or any for administrators';

-- Accounts, id descending. Everyone but administrators is shown the own one only (D3.19).
create or replace function api.list_nutzer(
  reader bigint, email portal.kurztext, name_regexp_ci portal.kurztext, status integer, before_id bigint, row_limit integer)
  returns table (result text, last_id bigint)
  language plpgsql
  stable
as $$
#variable_conflict use_column
declare
  v_administrator boolean := private.has_rolle(reader, 'administrator');
begin
  return query
  with page as (
    select u.id, row_to_json(r)::text as json
    from portal.nutzer u,
      lateral (select u.id, u.loginname, u.email, u.nachname, u.vorname, u.anonymisiert, u.status) r
    where (v_administrator or u.id = reader) and u.loeschung is null
      and (list_nutzer.email is null or u.email_key = private.to_account_key(list_nutzer.email))
      and (list_nutzer.status is null or u.status = list_nutzer.status)
      and (before_id is null or u.id < before_id)
      and (name_regexp_ci is null or u.vorname ~* name_regexp_ci or u.nachname ~* name_regexp_ci)
    order by u.id desc
    limit row_limit + 1
  )
  select l.result, l.last_id
  from private.to_page(
    array(select p.id from page p order by p.id desc), array(select p.json from page p order by p.id desc), row_limit) l;
end
$$;
comment on function api.list_nutzer(bigint, portal.kurztext, portal.kurztext, integer, bigint, integer) is
  'Accounts, id descending, for administrators; the own one for everyone else: one page as JSON text';

-- Fails unless a reader may change these fields of an account.
--   fields  names of the fields; none: whether any may be changed
-- errors    NRCHT another account, or a field that only administrators may change
create or replace function private.require_nutzer_right(reader bigint, id bigint, fields text[])
  returns void
  language plpgsql
  stable
as $$
begin
  if not private.has_rolle(reader, 'administrator')
    and (require_nutzer_right.id <> reader or not fields <@ '{email,passwort}') then
    raise exception 'not permitted' using errcode = 'NRCHT';
  end if;
end
$$;

-- The same, for the service to ask before it hashes a password.
create or replace function api.require_nutzer_right(reader bigint, id bigint, fields portal.kurztexte)
  returns void
  language sql
  stable
as $$
  select private.require_nutzer_right(reader, id, fields)
$$;
comment on function api.require_nutzer_right(bigint, bigint, portal.kurztexte) is
  'Fails unless a reader may change these fields of an account';

-- Changes an account: all fields that were sent, or none.
--   token_hash  SHA-256 of the key that the reader came with
--   fields  names of the fields that were sent; the values of all others are ignored
-- errors    ANMLD the key has ended; NRCHT another account or a field that only administrators may change; NFUND; NTZER (column email) taken;
--           GRUPP (column artengruppenbeschraenkung) unknown group; LADMN the last active administrator would be gone
create or replace function api.update_nutzer(
  reader bigint, token_hash bytea, id bigint, fields portal.kurztexte, email portal.kurztext, password_hash portal.kurztext,
  nachname portal.kurztext, vorname portal.kurztext, anonymisiert integer, status integer, rollen portal.kurztexte,
  artengruppen integer[])
  returns bigint
  language plpgsql
  volatile
as $$
#variable_conflict use_column
begin
  perform private.require_account_lock();
  -- Whoever lost the account while this request was on its way must not get it back by it. A new password by command
  -- doesn't take the account lock: the row's own keeps it waiting.
  perform from portal.nutzer u where u.id = reader for no key update;
  if not exists (select from portal.token t where t.hash = token_hash and t.nutzer_id = reader) then
    raise exception 'the key has ended' using errcode = 'ANMLD';
  end if;
  -- Under the lock: whoever is no administrator any more when it is their turn changes nothing as one.
  perform private.require_nutzer_right(reader, update_nutzer.id, fields);
  perform from portal.nutzer u where u.id = update_nutzer.id and u.loeschung is null for no key update;
  if not found then
    raise exception 'no such account' using errcode = 'NFUND';
  end if;
  if 'email' = any (fields) and exists (
    select from portal.nutzer u where u.email_key = private.to_account_key(update_nutzer.email) and u.id <> update_nutzer.id) then
    raise exception 'address is taken' using errcode = 'NTZER', column = 'email';
  end if;
  if 'artengruppenbeschraenkung' = any (fields) and exists (
    select from unnest(artengruppen) g where not exists (select from portal.artengruppe a where a.id = g)) then
    raise exception 'no such group' using errcode = 'GRUPP', column = 'artengruppenbeschraenkung';
  end if;

  update portal.nutzer u
  set email = case when 'email' = any (fields) then update_nutzer.email else u.email end,
    password_hash = case when 'passwort' = any (fields) then update_nutzer.password_hash else u.password_hash end,
    nachname = case when 'nachname' = any (fields) then update_nutzer.nachname else u.nachname end,
    vorname = case when 'vorname' = any (fields) then update_nutzer.vorname else u.vorname end,
    anonymisiert = case when 'anonymisiert' = any (fields) then update_nutzer.anonymisiert else u.anonymisiert end,
    status = case when 'status' = any (fields) then update_nutzer.status else u.status end
  where u.id = update_nutzer.id;
  if 'rollen' = any (fields) then
    delete from portal.nutzer_rolle r where r.nutzer_id = update_nutzer.id and r.rolle::text <> all (rollen);
    insert into portal.nutzer_rolle (nutzer_id, rolle)
    select update_nutzer.id, x::portal.rolle from unnest(rollen) x on conflict do nothing;
  end if;
  if 'artengruppenbeschraenkung' = any (fields) then
    delete from portal.nutzer_artengruppe a where a.nutzer_id = update_nutzer.id and a.gid <> all (artengruppen);
    insert into portal.nutzer_artengruppe (nutzer_id, gid)
    select update_nutzer.id, g from unnest(artengruppen) g on conflict do nothing;
  end if;
  if fields && '{status,rollen}' and not exists (
    select
    from portal.nutzer u
    join portal.nutzer_rolle r on r.nutzer_id = u.id
    where r.rolle = 'administrator' and u.status = 1) then
    raise exception 'no administrator would be left' using errcode = 'LADMN';
  end if;
  return update_nutzer.id;
end
$$;
comment on function api.update_nutzer(bigint, bytea, bigint, portal.kurztexte, portal.kurztext, portal.kurztext, portal.kurztext, portal.kurztext, integer, integer, portal.kurztexte, integer[]) is
  'Changes the named fields of an account as its owner or as administrator, all or none; returns its id';
