-- What roles an account has, and what they allow.

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

-- Which records an account is in charge of, for private.is_zustaendig: administrators of all, experts of those of their tenants, for
-- decisions also of their groups (D3.3, D4.8).
--   reader       account, null for anonymous
--   entscheiden  for decisions; else for true places and full names, which the groups limit only if the installation says so
create or replace function private.get_zustaendigkeit(reader bigint, entscheiden boolean)
  returns portal.zustaendigkeit
  language plpgsql
  stable
as $$
declare
  z portal.zustaendigkeit;
begin
  z.gilt := false;
  if reader is null then
    return z;
  end if;
  if private.has_rolle(reader, 'administrator') then
    z.gilt := true;
  elsif private.has_rolle(reader, 'expert') then
    z.gilt := true;
    z.mandanten := nullif(array(select m.mandant_id from portal.nutzer_mandant m where m.nutzer_id = reader), '{}');
    if entscheiden or (select i.orte_nach_gruppe from portal.installation i) then
      z.gids := nullif(array(select a.gid from portal.nutzer_artengruppe a where a.nutzer_id = reader), '{}');
    end if;
  end if;
  return z;
end
$$;

-- THE answer to whether a reader is in charge of a record: rights, masking, names, the queue and the QS log ask it. A record near a border
-- belongs to each tenant that its link names: of a protected one to all that its cell touches, wherever in the cell it lies.
--   z        of private.get_zustaendigkeit
--   id, gid  of the record
create or replace function private.is_zustaendig(z portal.zustaendigkeit, id bigint, gid integer)
  returns boolean
  language sql
  stable
  parallel safe
as $$
  select z.gilt and (z.gids is null or gid = any (z.gids)) and (z.mandanten is null or private.is_in_mandant(id, z.mandanten))
$$;

-- Whether a record belongs to one of these tenants. A function of its own, because one with a subquery is not inlined.
create or replace function private.is_in_mandant(id bigint, mandanten integer[])
  returns boolean
  language plpgsql
  stable
  parallel safe
as $$
begin
  return exists (
    select from portal.mandant_sichtbeobachtung l
    where l.sichtbeobachtung_id = is_in_mandant.id and l.mandant_id = any (is_in_mandant.mandanten));
end
$$;

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
