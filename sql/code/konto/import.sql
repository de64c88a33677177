-- Importing accounts: all or none.

-- What an import of accounts holds.
--   rows  JSON array of objects: zeile, loginname, email, vorname, nachname, anonymisiert, rolle, artengruppen (array of ids), mandanten
--         (array of abbreviations)
create or replace function private.list_nutzer_of_import(rows portal.dokument)
  returns table (
    zeile integer, loginname text, email text, vorname text, nachname text, anonymisiert integer, rolle portal.rolle,
    artengruppen integer[], mandanten text[], loginname_key text, email_key text)
  language sql
  stable
as $$
  select r.*, private.to_account_key(r.loginname), private.to_account_key(r.email)
  from json_to_recordset(rows::json) r (
    zeile integer, loginname text, email text, vorname text, nachname text, anonymisiert integer, rolle portal.rolle,
    artengruppen integer[], mandanten text[])
$$;

-- What speaks against an import of accounts; keeps others from being made until the end of the transaction. An account that has the
-- same login name and address is the same account, and nothing speaks against it.
--   rows    as in private.list_nutzer_of_import
-- returns   zeile; code: NTZER login name or address (spalte) is taken, by an account or, then bezug names it, by an earlier line;
--           GRUPP unknown group (bezug); MANUN unknown tenant (bezug: which of them, from 1 on)
create or replace function api.list_nutzer_import_fehler(rows portal.dokument)
  returns table (zeile integer, code text, spalte text, bezug integer)
  language plpgsql
  volatile
as $$
#variable_conflict use_column
begin
  perform private.require_account_lock();
  return query
  with r as materialized (select l.* from private.list_nutzer_of_import(rows) l)
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
  union all
  select r.zeile, 'MANUN', 'mandanten', k.nummer::integer
  from r, unnest(r.mandanten) with ordinality k (kuerzel, nummer)
  where not exists (select from portal.mandant m where lower(m.kuerzel) = lower(k.kuerzel))
  order by 1, 3;
end
$$;
comment on function api.list_nutzer_import_fehler(portal.dokument) is
  'What speaks against an import of accounts, by line; no others are made until the end of the transaction';

-- What an import of accounts says of the rights of accounts that are there already, and they don't have: it stays so.
--   rows    as in private.list_nutzer_of_import
-- returns   zeile, spalte
create or replace function api.list_nutzer_import_bleibt(rows portal.dokument)
  returns table (zeile integer, spalte text)
  language sql
  stable
as $$
  select r.zeile, w.spalte
  from private.list_nutzer_of_import(list_nutzer_import_bleibt.rows) r
  join portal.nutzer u using (loginname_key)
  cross join lateral (
    select 'rolle', array[r.rolle::text], array(select o.rolle::text from portal.nutzer_rolle o where o.nutzer_id = u.id)
    where r.rolle is not null
    union all
    select 'artengruppen', r.artengruppen::text[], array(select a.gid::text from portal.nutzer_artengruppe a where a.nutzer_id = u.id)
    where r.artengruppen <> '{}'
    union all
    select 'mandanten', array(select lower(k) from unnest(r.mandanten) k),
      array(select lower(m.kuerzel) from portal.nutzer_mandant n join portal.mandant m on m.id = n.mandant_id where n.nutzer_id = u.id)
    where r.mandanten <> '{}'
  ) w (spalte, gesagt, ist)
  where not (w.gesagt @> w.ist and w.gesagt <@ w.ist)
  order by r.zeile
$$;
comment on function api.list_nutzer_import_bleibt(portal.dokument) is
  'What an import of accounts says of the rights of accounts that are there already and stay as they are, by line';

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
    select l.* from private.list_nutzer_of_import(rows) l
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
  ),
  mandanten as (
    insert into portal.nutzer_mandant (nutzer_id, mandant_id)
    select a.id, m from angelegt a join r using (loginname_key), unnest(private.list_mandant_id(r.mandanten, 'mandanten')) m
  )
  select count(*) into v_count from angelegt;
  return v_count;
end
$$;
comment on function api.create_nutzer_of_import(portal.dokument) is
  'Stores the accounts of an import that are not there yet, without a password; returns how many';
