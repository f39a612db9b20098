import { describe, expect, test } from 'vitest';
import { corsHeaders } from './cors.ts';

describe('corsHeaders', () => {
  test('a permitted origin is named, with credentials and access to the private network', () => {
    expect(corsHeaders('http://localhost:3000', true)).toEqual({
      'access-control-allow-origin': 'http://localhost:3000',
      'access-control-allow-credentials': 'true',
      'access-control-allow-methods': '*',
      'access-control-allow-headers':
        '*, Accept, Content-Type, Content-Length, Cache-Control, Accept-Encoding, X-CSRF-Token, Client-Agent, X-Fields, Content-Type, Authorization, X-Requested-With, X-HTTP-Method-Override, apikey, genkey',
      'access-control-allow-private-network': 'true',
      vary: 'Origin',
    });
  });

  test('without an origin the star stands there, and no credentials', () => {
    const headers = corsHeaders(undefined, true);
    expect(headers['access-control-allow-origin']).toBe('*');
    expect(headers).not.toHaveProperty('access-control-allow-credentials');
  });

  test('a refused origin gets no permission of any kind', () =>
    expect(corsHeaders('https://elsewhere.example', false)).toEqual({ vary: 'Origin' }));
});
