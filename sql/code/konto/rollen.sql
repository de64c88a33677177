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
