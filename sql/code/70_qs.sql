-- The quality-assurance log (D3.15): every status change of a published record, and every publication.
-- Written by these trigger functions only.

create or replace function private.qs_after_insert()
  returns trigger
  language plpgsql
  volatile
  security definer
  set search_path = ''
as $$
begin
  insert into portal.qs (sichtbeobachtung_id, nutzer_id, art, datum_beobachtung, status, experte_id)
  select n.id, n.nutzer_id, n.art, n.datum, n.status, n.experte_id
  from new_row n
  where n.bereich = 'oeffentlich'
  order by n.id;
  return null;
end
$$;

create or replace function private.qs_after_update()
  returns trigger
  language plpgsql
  volatile
  security definer
  set search_path = ''
as $$
begin
  insert into portal.qs (sichtbeobachtung_id, nutzer_id, art, datum_beobachtung, status, experte_id)
  select n.id, n.nutzer_id, n.art, n.datum, n.status, case when n.status in ('freigegeben', 'abgelehnt') then n.experte_id end
  from new_row n
  join old_row o using (id)
  where n.bereich = 'oeffentlich' and (o.bereich = 'privat' or n.status <> o.status)
  order by n.id;
  return null;
end
$$;
