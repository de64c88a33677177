-- Accounts: creating, reading, changing and blocking them.

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
  -- The bounds of src/guard/mail-address.ts. What was stored before there were any stays.
  if new.email <> '' and new.email is distinct from old.email
    and (octet_length(new.email) > 254
      or new.email !~* '^[!-?A-~]+@([a-z0-9]([a-z0-9-]*[a-z0-9])?\.)+[a-z0-9-]*[a-z][a-z0-9-]*$') then
    raise exception 'no address of a mailbox' using errcode = '23514', column = 'email';
  end if;
  return new;
end
$$;

-- errors  NTZER (column loginname or email) taken; 23503 unknown group; MANUN (column mandanten) unknown tenant
create or replace function api.create_nutzer(
  loginname portal.kurztext, email portal.kurztext, vorname portal.kurztext, nachname portal.kurztext, anonymisiert integer,
  rolle portal.kurztext, artengruppen integer[], mandanten portal.kurztexte, password_hash portal.kurztext)
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
  insert into portal.nutzer_mandant (nutzer_id, mandant_id)
  select distinct v_id, m from unnest(private.list_mandant_id(mandanten, 'mandanten')) m;
  return v_id;
end
$$;
comment on function api.create_nutzer(portal.kurztext, portal.kurztext, portal.kurztext, portal.kurztext, integer, portal.kurztext, integer[], portal.kurztexte, portal.kurztext) is
  'Creates an account; rolle null, expert or administrator; password_hash as made by the service';

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
        array(select x.gid from portal.nutzer_artengruppe x where x.nutzer_id = u.id order by x.gid) as artengruppenbeschraenkung,
        array(
          select m.kuerzel from portal.nutzer_mandant x join portal.mandant m on m.id = x.mandant_id where x.nutzer_id = u.id
          order by m.kuerzel) as mandantenbeschraenkung,
        u.medien_lizenz, private.is_mail_abgelehnt(u.id) as mail_abgelehnt) r
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
    and (require_nutzer_right.id <> reader or not fields <@ '{email,passwort,medien_lizenz}') then
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
--           GRUPP (column artengruppenbeschraenkung) unknown group; MANUN (column mandantenbeschraenkung) unknown tenant; LADMN the last active administrator would be gone
create or replace function api.update_nutzer(
  reader bigint, token_hash bytea, id bigint, fields portal.kurztexte, email portal.kurztext, password_hash portal.kurztext,
  nachname portal.kurztext, vorname portal.kurztext, anonymisiert integer, status integer, rollen portal.kurztexte,
  artengruppen integer[], mandanten portal.kurztexte, medien_lizenz portal.kurztext)
  returns bigint
  language plpgsql
  volatile
as $$
#variable_conflict use_column
declare
  v_mandanten integer[];
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
  if 'mandantenbeschraenkung' = any (fields) then
    v_mandanten := private.list_mandant_id(mandanten, 'mandantenbeschraenkung');
  end if;

  update portal.nutzer u
  set email = case when 'email' = any (fields) then update_nutzer.email else u.email end,
    password_hash = case when 'passwort' = any (fields) then update_nutzer.password_hash else u.password_hash end,
    nachname = case when 'nachname' = any (fields) then update_nutzer.nachname else u.nachname end,
    vorname = case when 'vorname' = any (fields) then update_nutzer.vorname else u.vorname end,
    anonymisiert = case when 'anonymisiert' = any (fields) then update_nutzer.anonymisiert else u.anonymisiert end,
    status = case when 'status' = any (fields) then update_nutzer.status else u.status end,
    medien_lizenz = case when 'medien_lizenz' = any (fields) then update_nutzer.medien_lizenz else u.medien_lizenz end
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
  if v_mandanten is not null then
    delete from portal.nutzer_mandant n where n.nutzer_id = update_nutzer.id and n.mandant_id <> all (v_mandanten);
    insert into portal.nutzer_mandant (nutzer_id, mandant_id)
    select update_nutzer.id, m from unnest(v_mandanten) m on conflict do nothing;
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
comment on function api.update_nutzer(bigint, bytea, bigint, portal.kurztexte, portal.kurztext, portal.kurztext, portal.kurztext, portal.kurztext, integer, integer, portal.kurztexte, integer[], portal.kurztexte, portal.kurztext) is
  'Changes the named fields of an account as its owner or as administrator, all or none; returns its id';
