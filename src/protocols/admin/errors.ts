import { type Family, json } from '../../http/call.ts';
import { busyDetail, retryHeaders } from '../../http/error-reply.ts';

/** Refusals of this family have bodies of their own with status 200; this is for what goes wrong beyond them. */
export const adminFamily: Family = {
  name: 'admin',
  title: 'Administration',
  errorReply: (error) =>
    json({ success: false, error: error.message, ...busyDetail(error) }, error.status, retryHeaders(error)),
};
