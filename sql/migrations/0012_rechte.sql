-- People's rights over their data: accounts that are erased leave a number without a name, where records refer to it.
CREATE TABLE "portal"."nutzer_daten_link" (
	"nutzer_id" bigint PRIMARY KEY NOT NULL,
	"hash" "bytea" NOT NULL,
	"angelegt" timestamp with time zone DEFAULT now() NOT NULL,
	"geholt" boolean DEFAULT false NOT NULL
);
--> statement-breakpoint
ALTER TABLE "portal"."nutzer" ALTER COLUMN "loginname" DROP NOT NULL;--> statement-breakpoint
ALTER TABLE "portal"."nutzer" ALTER COLUMN "loginname_key" DROP NOT NULL;--> statement-breakpoint
ALTER TABLE "portal"."nutzer" ADD COLUMN "loeschung" text;--> statement-breakpoint
ALTER TABLE "portal"."nutzer_daten_link" ADD CONSTRAINT "nutzer_daten_link_nutzer_id_nutzer_id_fk" FOREIGN KEY ("nutzer_id") REFERENCES "portal"."nutzer"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "nutzer_daten_link_hash" ON "portal"."nutzer_daten_link" USING btree ("hash");--> statement-breakpoint
CREATE INDEX "qs_experte" ON "portal"."qs" USING btree ("experte_id","id") WHERE "portal"."qs"."experte_id" is not null;--> statement-breakpoint
ALTER TABLE "portal"."nutzer" ADD CONSTRAINT "nutzer_loeschung" CHECK ("portal"."nutzer"."loeschung" is null or ("portal"."nutzer"."loeschung" in ('behalten', 'loeschen') and "portal"."nutzer"."status" = 0 and "portal"."nutzer"."password_hash" is null));--> statement-breakpoint
ALTER TABLE "portal"."nutzer" ADD CONSTRAINT "nutzer_geloescht" CHECK ("portal"."nutzer"."loginname_key" is not null or ("portal"."nutzer"."loeschung" is not null and num_nonnulls("portal"."nutzer"."loginname", "portal"."nutzer"."email", "portal"."nutzer"."email_key", "portal"."nutzer"."vorname", "portal"."nutzer"."nachname", "portal"."nutzer"."portal_name", "portal"."nutzer"."portal_url") = 0));