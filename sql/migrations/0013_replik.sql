-- Replicas: each row of the versions says on which start of a server it counted last.
ALTER TABLE "portal"."stand" ADD COLUMN "gestartet" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "portal"."stand" ADD COLUMN "gestartet_protokoll" timestamp with time zone;