-- What follows when species and their definitions by tenants change.

-- A species that becomes or stops being sensitive somewhere: its old records are masked or shown at once (S1.5).
create or replace function private.art_mandant_after_write()
  returns trigger
  language plpgsql
  volatile
  security definer
  set search_path = ''
as $$
declare
  v_arts integer[];
  -- shown differently at some tenant
  v_shown integer[];
begin
  -- Both transition tables exist only for an update, and a name that does not exist fails only when it is planned.
  if tg_op = 'INSERT' then
    v_arts := array(select distinct n.art from new_row n where n.sensibel);
    v_shown := array(select distinct n.art from new_row n);
  elsif tg_op = 'DELETE' then
    v_arts := array(select distinct o.art from old_row o where o.sensibel);
    v_shown := array(select distinct o.art from old_row o);
  else
    v_shown := array(
      select distinct coalesce(n.art, o.art)
      from new_row n
      full join old_row o using (mandant_id, art)
      where (n.titel_json, n.art_json, n.sensibel) is distinct from (o.titel_json, o.art_json, o.sensibel));
    v_arts := array(
      select distinct coalesce(n.art, o.art)
      from new_row n
      full join old_row o using (mandant_id, art)
      where coalesce(n.sensibel, false) <> coalesce(o.sensibel, false));
  end if;
  if pg_catalog.cardinality(v_arts) > 0 then
    perform private.set_schutz_of_art(v_arts);
  end if;
  perform private.set_abgleich_of_art(v_shown);
  return null;
end
$$;

-- The text that lists of sightings are made of.
create or replace function private.art_mandant_before_write()
  returns trigger
  language plpgsql
  volatile
  set search_path = ''
as $$
begin
  select private.to_titel_json(
    coalesce(new.name_deutsch, a.name_deutsch), coalesce(new.name_wissenschaftlich, a.name_wissenschaftlich))
  into new.titel_json
  from portal.art a
  where a.id = new.art;
  new.art_json := private.to_art_json(new.art_id, new.legacy_regional_art_id);
  return new;
end
$$;

-- The group is kept on each record for the group filter's index, the names on each definition of a tenant that has none of its
-- own.
create or replace function private.art_after_update()
  returns trigger
  language plpgsql
  volatile
  security definer
  set search_path = ''
as $$
begin
  update portal.sichtbeobachtung s
  set gid = n.gid
  from new_row n
  where s.art = n.id and s.gid <> n.gid;
  -- The trigger on the table writes it.
  update portal.art_mandant am
  set titel_json = null
  from new_row n
  where am.art = n.id and am.titel_json is distinct from private.to_titel_json(
    coalesce(am.name_deutsch, n.name_deutsch), coalesce(am.name_wissenschaftlich, n.name_wissenschaftlich));
  -- Tenants that don't define the species show its own names.
  perform private.set_abgleich_of_art(array(
    select n.id
    from new_row n
    join old_row o using (id)
    where (n.name_deutsch, n.name_wissenschaftlich) is distinct from (o.name_deutsch, o.name_wissenschaftlich)));
  return null;
end
$$;
