import { splitQualifiedName } from './qualified-name.ts';
import { renderTemplate } from './template/go-template.ts';

/** What a session's name may be made of. Source: Gas City session names; safe as a tmux target, pod name part, file name. */
export const SESSION_NAME_PATTERN = /^[a-zA-Z0-9][a-zA-Z0-9_-]*$/;

/** Where the template of session names stands, as messages call it. */
export const SESSION_TEMPLATE_PLACE = 'workspace.session_template';

/** `/` becomes `--`, `.` becomes `__`. Source: Gas City session naming. */
export function encodeIdentity(identity: string): string {
  return identity.replaceAll('/', '--').replaceAll('.', '__');
}

/** The best guess at what was encoded; names that hold `--` or `__` themselves are ambiguous. */
export function decodeIdentity(sessionName: string): string {
  return sessionName.replaceAll('--', '/').replaceAll('__', '.');
}

/** The session name of an identity: the template's output, else the encoded identity. @throws TemplateError */
export function nameSession(cityName: string, sessionTemplate: string, identity: string): string {
  const encoded = encodeIdentity(identity);
  if (sessionTemplate === '') return encoded;
  const { dir, name } = splitQualifiedName(identity);
  return renderTemplate(
    sessionTemplate,
    { City: cityName, Agent: encoded, Dir: dir, Name: name },
    SESSION_TEMPLATE_PLACE,
  );
}
