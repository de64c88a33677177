-- portal: tables (sql/migrations). private: helpers and trigger functions. api: all that TypeScript may call.
-- gis: what analysts may read. Nobody but the owner may look into any of them unless a grant says so.
create schema if not exists private;
create schema if not exists api;
create schema if not exists gis;

revoke all on schema portal, private, api, gis from public;

comment on schema portal is 'Tables of the sighting portal; written by the service and by operators';
comment on schema private is 'Helpers and trigger functions; replaced at every migrate, call them from nowhere else';
comment on schema api is 'Every call that the service makes';
comment on schema gis is 'What analysts may read';
