-- What instances of the last release, 0.30, still call while they are being replaced. It hands on to what is there now and knows nothing
-- itself.

-- Accounts without a licence of their photos and sound files.
create or replace function api.update_nutzer(
  reader bigint, token_hash bytea, id bigint, fields portal.kurztexte, email portal.kurztext, password_hash portal.kurztext,
  nachname portal.kurztext, vorname portal.kurztext, anonymisiert integer, status integer, rollen portal.kurztexte,
  artengruppen integer[])
  returns bigint
  language plpgsql
  volatile
as $$
begin
  return api.update_nutzer(
    reader, token_hash, id, fields, email, password_hash, nachname, vorname, anonymisiert, status, rollen, artengruppen, null);
end
$$;
comment on function api.update_nutzer(bigint, bytea, bigint, portal.kurztexte, portal.kurztext, portal.kurztext, portal.kurztext, portal.kurztext, integer, integer, portal.kurztexte, integer[]) is
  'Changes the named fields of an account as its owner or as administrator, all or none; for instances of release 0.30';

create or replace function api.register_nutzer(
  loginname portal.kurztext, email portal.kurztext, vorname portal.kurztext, nachname portal.kurztext, anonymisiert integer,
  portal_name portal.kurztext, portal_url portal.kurztext)
  returns table (nutzer_id bigint, is_new boolean)
  language plpgsql
  volatile
as $$
begin
  return query
  select r.nutzer_id, r.is_new
  from api.register_nutzer(loginname, email, vorname, nachname, anonymisiert, portal_name, portal_url, null) r;
end
$$;
comment on function api.register_nutzer(portal.kurztext, portal.kurztext, portal.kurztext, portal.kurztext, integer, portal.kurztext, portal.kurztext) is
  'Registers an account without a password; for instances of release 0.30';
