create extension if not exists postgis with schema public;
--> statement-breakpoint
create extension if not exists btree_gist with schema public;
--> statement-breakpoint
create extension if not exists "uuid-ossp" with schema public;
