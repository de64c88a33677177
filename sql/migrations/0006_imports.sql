-- The fields of one sighting, as a client sent them: far more than remarks of 4 000 characters and names take.
CREATE DOMAIN "portal"."felder" AS jsonb CONSTRAINT "felder_laenge" CHECK (octet_length(value::text) <= 100000);--> statement-breakpoint
CREATE TABLE "portal"."medium_import" (
	"hash" "bytea" NOT NULL,
	"nummer" integer NOT NULL,
	"audio" boolean NOT NULL,
	"name" text NOT NULL,
	"angelegt" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "medium_import_hash_nummer_audio_pk" PRIMARY KEY("hash","nummer","audio"),
	CONSTRAINT "medium_import_name" UNIQUE("name")
);
--> statement-breakpoint
CREATE TABLE "portal"."sichtbeobachtung_herkunft" (
	"sichtbeobachtung_id" bigint PRIMARY KEY NOT NULL,
	"quelle" text,
	"quelle_id" text,
	"guid" uuid,
	CONSTRAINT "sichtbeobachtung_herkunft_quelle_id" CHECK (("portal"."sichtbeobachtung_herkunft"."quelle" is null) = ("portal"."sichtbeobachtung_herkunft"."quelle_id" is null))
);
--> statement-breakpoint
ALTER TABLE "portal"."nutzer" ADD COLUMN "registriert" boolean DEFAULT false NOT NULL;--> statement-breakpoint
CREATE UNIQUE INDEX "sichtbeobachtung_herkunft_quelle" ON "portal"."sichtbeobachtung_herkunft" USING btree ("quelle","quelle_id");--> statement-breakpoint
CREATE UNIQUE INDEX "sichtbeobachtung_herkunft_guid" ON "portal"."sichtbeobachtung_herkunft" USING btree ("guid");--> statement-breakpoint
UPDATE "portal"."nutzer" SET "registriert" = true WHERE "password_hash" IS NULL;
