-- Files to publish (O5): which there are, and how a run goes. A run for a tenant is one transaction, repeatable read: it takes the lock, reads
-- its rows as gis_public, stores its files, and names them at the end. What makes files wrong and is not in its snapshot stays written down.

-- Tenants whose files are to be made: those that publish, and those that did and have files left.
--   alle     all of them; else those that lack files or whose files are wrong, and not those whose last run failed less than ten minutes ago
-- returns    abbreviations
create or replace function api.list_export_faellig(alle boolean)
  returns setof text
  language sql
  stable
as $$
  select m.kuerzel
  from portal.mandant m
  left join portal.export_lauf l on l.mandant_id = m.id
  where case
    when m.lizenz is null then exists (select from portal.export_datei d where d.mandant_id = m.id)
    when list_export_faellig.alle then true
    else (l.fehler is null or l.beendet < now() - interval '10 minutes')
      and (l.mandant_id is null or l.fehler is not null
        or not exists (select from portal.export_datei d where d.mandant_id = m.id)
        or exists (select from portal.export_ungueltig u where u.mandant_id = m.id)) end
  order by m.id
$$;
comment on function api.list_export_faellig(boolean) is 'Tenants whose files to publish are to be made now';

-- Begins a run: the first statement of its transaction.
-- errors  55P03 another run is under way; of one that ended at this moment its own end tells, by 40001
create or replace function api.require_export_lock()
  returns void
  language sql
  volatile
as $$
  select private.require_export_lock()
$$;
comment on function api.require_export_lock() is 'Makes this transaction the only one that makes files to publish';

-- Names the files of a tenant as they are now: the end of a run. What the snapshot of this transaction knows no longer makes them wrong.
--   dateien   JSON array of {datei, objekt, bytes, anzahl, sha256 (hexadecimal)}; those that it does not name are none any more
-- returns     names in the storage that are not used any more
-- A file that is as it was keeps its name in the storage and its time.
create or replace function api.set_export_datei(kuerzel portal.kurztext, dateien portal.dokument)
  returns text[]
  language plpgsql
  volatile
as $$
declare
  v_mandant integer := (select m.id from portal.mandant m where lower(m.kuerzel) = lower(set_export_datei.kuerzel));
  v_before text[] := array(select d.objekt from portal.export_datei d where d.mandant_id = v_mandant);
begin
  delete from portal.export_datei d
  where d.mandant_id = v_mandant
    and d.datei not in (select n.datei from json_to_recordset(set_export_datei.dateien::json) n (datei text));
  insert into portal.export_datei as d (mandant_id, datei, objekt, bytes, anzahl, sha256)
  select v_mandant, n.datei, n.objekt, n.bytes, n.anzahl, decode(n.sha256, 'hex')
  from json_to_recordset(set_export_datei.dateien::json) n (datei text, objekt text, bytes bigint, anzahl bigint, sha256 text)
  on conflict (mandant_id, datei) do update
    set objekt = excluded.objekt, bytes = excluded.bytes, anzahl = excluded.anzahl, sha256 = excluded.sha256, stand = now()
    where d.sha256 <> excluded.sha256;
  delete from portal.export_ungueltig u where u.mandant_id = v_mandant;
  return array(
    select b.objekt from unnest(v_before) b (objekt)
    where not exists (select from portal.export_datei d where d.mandant_id = v_mandant and d.objekt = b.objekt));
end
$$;
comment on function api.set_export_datei(portal.kurztext, portal.dokument) is
  'Names the files of a tenant that its run has stored; returns names in the storage that are not used any more';

-- Notes how the last run for a tenant ended.
--   fehler  null: well
create or replace function api.set_export_lauf(kuerzel portal.kurztext, fehler portal.kurztext)
  returns void
  language sql
  volatile
as $$
  insert into portal.export_lauf (mandant_id, beendet, fehler)
  select m.id, now(), set_export_lauf.fehler from portal.mandant m where lower(m.kuerzel) = lower(set_export_lauf.kuerzel)
  on conflict (mandant_id) do update set beendet = excluded.beendet, fehler = excluded.fehler
$$;
comment on function api.set_export_lauf(portal.kurztext, portal.kurztext) is 'Notes how the last run for a tenant ended: fehler null is well';

-- What is published: a row for each file of each tenant with a licence; one without a file where there is none yet.
--   kuerzel   one tenant, in any case; null for all
-- returns     gueltig: it may be served; fehler: why the last run failed
create or replace function api.list_export(kuerzel portal.kurztext)
  returns table (
    mandant text, name text, domain text, lizenz text, herausgeber text, kontakt text, titel text, beschreibung text,
    datei text, objekt text, bytes bigint, anzahl bigint, sha256 text, stand timestamptz, gueltig boolean, beendet timestamptz, fehler text)
  language sql
  stable
as $$
  select m.kuerzel, m.name, (select d.domain from portal.mandant_domain d where d.mandant_id = m.id order by d.position limit 1),
    m.lizenz, m.herausgeber, m.kontakt, m.titel, m.beschreibung, f.datei, f.objekt, f.bytes, f.anzahl, encode(f.sha256, 'hex'), f.stand,
    f.datei is not null and not exists (select from portal.export_ungueltig u where u.mandant_id = m.id), l.beendet, l.fehler
  from portal.mandant m
  left join portal.export_datei f on f.mandant_id = m.id
  left join portal.export_lauf l on l.mandant_id = m.id
  where m.lizenz is not null and (list_export.kuerzel is null or lower(m.kuerzel) = lower(list_export.kuerzel))
  order by m.id, f.datei
$$;
comment on function api.list_export(portal.kurztext) is 'Files to publish with what they say of themselves, and whether they may be served';

-- Whether there is such a tenant, for one that publishes nothing.
create or replace function api.is_mandant(kuerzel portal.kurztext)
  returns boolean
  language sql
  stable
as $$
  select exists (select from portal.mandant m where lower(m.kuerzel) = lower(is_mandant.kuerzel))
$$;
comment on function api.is_mandant(portal.kurztext) is 'Whether there is a tenant with this abbreviation';

-- Forgets all files to publish: a backup has none of them.
create or replace function api.delete_export_datei()
  returns void
  language sql
  volatile
as $$
  delete from portal.export_datei
$$;
comment on function api.delete_export_datei() is 'Forgets all files to publish, for a database that was made of a backup';
