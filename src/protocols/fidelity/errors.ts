import { type Family, json } from '../../http/call.ts';

export const fidelityFamily: Family = {
  name: 'fidelity',
  title: 'About the APIs',
  errorReply: ({ message: msg, code: type, status }) => json({ detail: { msg, type } }, status),
};
