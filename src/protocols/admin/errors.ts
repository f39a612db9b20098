import { type Family, json } from '../../http/call.ts';

/** Refusals of this family have bodies of their own with status 200; this is for what goes wrong beyond them. */
export const adminFamily: Family = {
  name: 'admin',
  title: 'Administration',
  errorReply: (error) => json({ success: false, error: error.message }, error.status),
};
