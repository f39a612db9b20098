import type { ToolServerEditor, ToolServers } from '../../core/tool-servers.ts';
import { type Call, json, type Reply } from '../../http/call.ts';
import { read } from '../access.ts';
import { bodyOf, type PlainEndpoint } from '../endpoint.ts';
import { isObject, objectSchema, textSchema } from '../fields.ts';
import { type AdminAccess, adminRow, changeReply, field, mayAdminister } from './access.ts';

interface McpAdminServices {
  readonly access: AdminAccess;
  readonly tools?: ToolServers | undefined;
  /** Undefined if servers cannot be added. */
  readonly editor?: ToolServerEditor | undefined;
}

const addFields = {
  name: field(textSchema, 'The name of the server; one of the same name is replaced.'),
  url: field(textSchema, 'Its http or https address. Programs are added in the file of --mcpfile only.'),
  headers: field(objectSchema, 'Sent with each request to the address.'),
  type: field(textSchema, 'sse for the older transport.'),
};

const removeFields = { name: field(textSchema, 'The name of a server with an address.') };

export function mcpAdminEndpoints({ access, tools, editor }: McpAdminServices): PlainEndpoint[] {
  const editorFor = (call: Call) => (mayAdminister(access, call) ? editor : undefined);
  const edit = async (call: Call, work: (own: ToolServerEditor) => Promise<void>): Promise<Reply> => {
    const own = editorFor(call);
    return own ? changeReply(() => work(own)) : json({ success: false, error: notAllowed });
  };
  return [
    adminRow(
      '/api/extra/mcp',
      'The MCP servers with their state and tools, and whether this key may add some.',
      (call) =>
        json({
          servers: tools?.catalog?.servers() ?? [],
          admin: { enabled: editor !== undefined, allowed: editorFor(call) !== undefined },
          file: editorFor(call)?.file ?? null,
        }),
      { ...read('tools'), method: 'GET', response: 'toolServers' },
    ),
    adminRow(
      '/api/admin/mcp/add',
      'Connect to an MCP server by its address, and save it.',
      async (call) => {
        const { name, url, headers, type } = await bodyOf(call);
        const entry = { url, ...(isObject(headers) ? { headers } : {}), ...(type === 'sse' ? { type } : {}) };
        return edit(call, async ({ add }) => {
          if (typeof name !== 'string' || !usableName.test(name)) throw new Error(badName);
          if (typeof url !== 'string') throw new Error('The field url must be an address.');
          await add(name, entry);
        });
      },
      { fields: addFields, response: 'change' },
    ),
    adminRow(
      '/api/admin/mcp/remove',
      'Disconnect from an MCP server, and delete it from the file.',
      async (call) => {
        const { name } = await bodyOf(call);
        return edit(call, ({ remove }) => remove(String(name)));
      },
      { fields: removeFields, response: 'change' },
    ),
  ];
}

const usableName = /^[\w][\w .-]{0,63}$/;
const badName = 'The name must have up to 64 letters, digits, spaces, dots or dashes.';
const notAllowed = 'Not allowed. Start the server with --admin, and send the admin password if it has one.';
