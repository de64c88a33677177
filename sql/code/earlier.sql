-- What instances of the last release, 0.31, still call while they are being replaced. It hands on to what is there now and knows nothing
-- itself.

-- Accounts without a restriction to tenants.
create or replace function api.update_nutzer(
  reader bigint, token_hash bytea, id bigint, fields portal.kurztexte, email portal.kurztext, password_hash portal.kurztext,
  nachname portal.kurztext, vorname portal.kurztext, anonymisiert integer, status integer, rollen portal.kurztexte,
  artengruppen integer[], medien_lizenz portal.kurztext)
  returns bigint
  language plpgsql
  volatile
as $$
begin
  return api.update_nutzer(
    reader, token_hash, id, fields, email, password_hash, nachname, vorname, anonymisiert, status, rollen, artengruppen, null, medien_lizenz);
end
$$;
comment on function api.update_nutzer(bigint, bytea, bigint, portal.kurztexte, portal.kurztext, portal.kurztext, portal.kurztext, portal.kurztext, integer, integer, portal.kurztexte, integer[], portal.kurztext) is
  'Changes the named fields of an account as its owner or as administrator, all or none; for instances of release 0.31';
