import { describe, expect, test } from 'vitest';
import { corsHeaders } from './respond.ts';

describe('corsHeaders', () => {
  test('a permitted origin is named, with credentials and access to the private network', () => {
    expect(corsHeaders('http://localhost:3000', true)).toEqual({
      'access-control-allow-origin': 'http://localhost:3000',
      'access-control-allow-credentials': 'true',
      'access-control-allow-methods': '*, GET, POST, DELETE, OPTIONS, HEAD, PUT',
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

  test('headers that a browser asks for are allowed by name', () => {
    const asked = 'authorization,anthropic-version, x-stainless-arch';
    const headers = corsHeaders('http://localhost:3000', true, asked);
    expect(headers['access-control-allow-headers']).toMatch(
      /, genkey, authorization, anthropic-version, x-stainless-arch$/,
    );
  });

  test('what is no name of a header is not repeated', () => {
    const headers = corsHeaders('http://localhost:3000', true, 'x-ok, bad name, <b>, \r\nx: y, ');
    expect(headers['access-control-allow-headers']).toMatch(/, genkey, x-ok$/);
  });

  test('a refused origin gets no permission of any kind', () =>
    expect(corsHeaders('https://elsewhere.example', false)).toEqual({ vary: 'Origin' }));
});
