import { AppError } from '../../core/errors.ts';
import { type LanFacts, type LanService, lanPath } from '../../core/lan.ts';
import { json, type Reply } from '../../http/call.ts';
import { information } from '../access.ts';
import { endpointRow, type PlainEndpoint } from '../endpoint.ts';
import { adminDialect } from './access.ts';

const row = endpointRow(information, { method: 'GET', dialect: adminDialect, recorded: false });

/** How a phone reaches and trusts this server. Open: it has no key yet, and what is answered here protects nothing. */
export function lanEndpoints(lan: LanService | undefined): PlainEndpoint[] {
  const file = (content: string | undefined, type: string, name: string): Reply => {
    if (content === undefined)
      throw new AppError('unsupported', {
        feature: 'A certificate of its own',
        instead: 'start the server with --lan and without --ssl',
      });
    const headers = {
      'content-type': type,
      'content-disposition': `attachment; filename="${name}"`,
      'cache-control': 'no-store',
    };
    return { status: 200, headers, body: content };
  };
  return [
    row(
      '/lan/authority.crt',
      'The certificate of the authority of --lan, which phones and computers can be told to trust.',
      () => file(lan?.authority(), 'application/x-x509-ca-cert', 'parley.crt'),
      { response: 'certificate' },
    ),
    row(
      '/lan/parley.mobileconfig',
      'The same certificate as a profile for iPhone, iPad and Mac.',
      () => file(lan?.profile(), 'application/x-apple-aspen-config', 'parley.mobileconfig'),
      { response: 'profile' },
    ),
    row(
      lanPath,
      'With --lan: the addresses and names of the server in the local network.',
      () => {
        const facts: Partial<LanFacts> = lan?.facts() ?? {};
        const { isPublic = false, addresses = [], unnamed = [], names = [], port = null, fingerprint = null } = facts;
        const body = { enabled: lan !== undefined, public: isPublic, addresses, unnamed, names, port, fingerprint };
        return json(body, 200, { 'cache-control': 'no-store' });
      },
      { response: 'lan' },
    ),
  ];
}
