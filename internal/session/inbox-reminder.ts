/** A message as its reader is told it. */
export interface Reminder {
  readonly source: string;
  readonly sender: string;
  readonly message: string;
}

/** For a hook, whose output becomes a part of the turn. Source: Gas City's reminder block. */
export function reminderBlock(items: readonly Reminder[]): string {
  const intro =
    items.length === 1
      ? 'A message has waited for you until now:'
      : `${items.length} messages have waited for you until now, oldest first:`;
  return [
    '<system-reminder>',
    intro,
    ...items.map((item) => bullet({ ...item, message: unclosed(item.message) })),
    'Attend to this after what you are asked in this turn.',
    '</system-reminder>',
    '',
  ].join('\n');
}

/** For people and scripts. */
export function reminderList(items: readonly Reminder[]): string {
  return ['Deferred reminders:', ...items.map(bullet), ''].join('\n');
}

function bullet({ source, sender, message }: Reminder): string {
  const from = source === 'session' ? `from ${sender}` : source;
  return `- [${from}] ${message}`;
}

/** A message cannot end the block that it stands in. */
function unclosed(message: string): string {
  return message.replaceAll('</system-reminder>', '< /system-reminder>');
}
