-- portal: tables (sql/migrations). private: helpers and trigger functions. api: all that TypeScript may call.
-- gis: what analysts may read. ausgabe: what the outputs beside the interface call, under the role of an analyst. Nobody but the owner may look into any of them unless a grant says so.
create schema if not exists private;
create schema if not exists api;
create schema if not exists gis;
create schema if not exists ausgabe;

revoke all on schema portal, private, api, gis, ausgabe from public;

comment on schema portal is 'Tables of the sighting portal; written by the service and by operators';
comment on schema private is 'Helpers and trigger functions; replaced at every migrate, call them from nowhere else';
comment on schema api is 'Every call that the service makes';
comment on schema gis is 'What analysts may read';
comment on schema ausgabe is 'What the outputs call as gis_public, and analysts may call too; reads views of gis only';
