-- Registering, and setting a password by the link in a mail.

-- Registers an account without a password (D3.18).
-- returns  the account to mail a link to, and whether it is the owner of the address instead, who is told about it
-- errors   NTZER (column loginname) the login name is taken or reserved
create or replace function api.register_nutzer(
  loginname portal.kurztext, email portal.kurztext, vorname portal.kurztext, nachname portal.kurztext, anonymisiert integer,
  portal_name portal.kurztext, portal_url portal.kurztext, medien_lizenz portal.kurztext)
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
    insert into portal.nutzer as u (loginname, email, vorname, nachname, anonymisiert, portal_name, portal_url, medien_lizenz,
      registriert)
    values (btrim(register_nutzer.loginname), register_nutzer.email, register_nutzer.vorname, register_nutzer.nachname,
      register_nutzer.anonymisiert, register_nutzer.portal_name, register_nutzer.portal_url, register_nutzer.medien_lizenz, true)
    returning u.id into nutzer_id;
    is_new := true;
  end if;
  return next;
end
$$;
comment on function api.register_nutzer(portal.kurztext, portal.kurztext, portal.kurztext, portal.kurztext, integer, portal.kurztext, portal.kurztext, portal.kurztext) is
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
