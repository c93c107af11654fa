# Runs the program alone and answers calls of its methods, one line of JSON at a time (see calls.py). Nothing secret is in
# this process: whatever the program does here, it can only choose what it answers.
require "json"
require "set"

lambda do
  depth_limit = 64
  longest = 16_000_000
  parse = JSON.method(:parse)
  from = IO.for_fd(3, "rb", autoclose: false)
  to = IO.for_fd(4, "wb", autoclose: false)
  to.sync = true
  unknown = Class.new(StandardError)

  text = lambda do |value|
    escaped = value.gsub(/["\\\x00-\x1f]/) { |each| "\\u%04x" % each.ord }
    "\"#{escaped}\""
  end
  utf8 = lambda do |value|
    converted = value.encoding == Encoding::BINARY ? value.dup.force_encoding("UTF-8") : value.encode("UTF-8")
    converted if converted.valid_encoding? && (value.encoding != Encoding::BINARY || value.ascii_only?)
  rescue EncodingError
    nil
  end

  # A value as JSON with tags; what a tag could be taken for is doubled.
  encode = lambda do |value, depth = 0|
    raise unknown, "a value deeper than #{depth_limit}" if depth > depth_limit
    list = ->(values) { "[#{values.map { |each| encode.call(each, depth + 1) }.join(",")}]" }
    case value
    when nil then "null"
    when true then "true"
    when false then "false"
    when Integer then value.to_s
    when Float
      next value.to_s if value.finite?
      "{\"$float\":\"#{value.nan? ? "nan" : value.positive? ? "inf" : "-inf"}\"}"
    when String
      plain = utf8.call(value)
      plain ? text.call(plain) : "{\"$bytes\":\"#{[value].pack("m0")}\"}"
    when Symbol then text.call(value.name.encode("UTF-8"))
    when Array then list.call(value)
    when Set then "{\"$set\":#{list.call(value.to_a)}}"
    when Hash
      names = value.keys.map { |key| key.is_a?(Symbol) ? key.name : key }
      next "{\"$map\":#{list.call(value.to_a)}}" unless names.all?(String) && names.uniq.size == names.size
      pairs = names.zip(value.values).map do |name, each|
        "#{text.call(name.start_with?("$") ? "$#{name}" : name)}:#{encode.call(each, depth + 1)}"
      end
      "{#{pairs.join(",")}}"
    else raise unknown, value.class.name.to_s.split("::").last || "an object"
    end
  end

  decode = lambda do |value|
    next value.map(&decode) if value.is_a?(Array)
    next value unless value.is_a?(Hash)
    if value.size == 1
      name, content = value.first
      case name
      when "$tuple", "$array" then next decode.call(content)
      when "$set" then next Set.new(decode.call(content))
      when "$map" then next decode.call(content).to_h
      when "$bytes" then next content.unpack1("m0")
      when "$float" then next({ "nan" => Float::NAN, "inf" => Float::INFINITY, "-inf" => -Float::INFINITY }[content])
      end
    end
    value.to_h { |key, each| [key.delete_prefix(key.start_with?("$$") ? "$" : ""), decode.call(each)] }
  end

  main = TOPLEVEL_BINDING.receiver
  before = (main.methods + main.private_methods).to_h { |name| [name, main.method(name).unbind] }
  constants = Object.constants
  # What a name means in the program: a method, a lambda of the top level, a method of a class; nothing of Ruby's own.
  found = lambda do |path|
    owner, _, member = path.rpartition(".")
    unless owner.empty?
      next nil if constants.include?(owner.to_sym) && Object.const_source_location(owner)&.empty?
      receiver = Object.const_get(owner)
      next receiver.respond_to?(member) ? receiver.public_method(member) : nil
    end
    scope = TOPLEVEL_BINDING
    if /\A[a-z_]\w*\z/.match?(member) && scope.local_variable_defined?(member)
      value = scope.local_variable_get(member)
      next value if value.respond_to?(:call)
    end
    if /\A[A-Z]\w*\z/.match?(member) && Object.const_defined?(member) && !constants.include?(member.to_sym)
      value = Object.const_get(member)
      next value if value.respond_to?(:call)
    end
    next nil unless main.respond_to?(member, true)
    method = main.method(member)
    method unless before[member.to_sym] == method.unbind
  rescue NameError
    nil
  end

  reply = lambda do |request|
    id = request["id"]
    function = found.call(request["call"])
    next "{\"id\":#{id},\"missing\":#{text.call("no method #{request["call"]}")}}" unless function
    value = encode.call(function.call(*request["args"].map(&decode)))
    raise unknown, "a value longer than 16 megabytes" if value.bytesize > longest
    "{\"id\":#{id},\"returns\":#{value}}"
  rescue unknown => error
    "{\"id\":#{id},\"unknown\":#{text.call(error.message)}}"
  rescue SystemExit, SignalException
    raise
  rescue Exception => error # rubocop:disable Lint/RescueException
    bare = ->(kind) { text.call(kind.name.to_s.split("::").last.to_s) }
    bases = error.class.ancestors.grep(Class).drop(1).map(&bare)
    message = (utf8.call(error.message.to_s) || "").slice(0, 1000)
    "{\"id\":#{id},\"raises\":{\"type\":#{bare.call(error.class)},\"message\":#{text.call(message)},\"bases\":[#{bases.join(",")}]}}"
  end

  TOPLEVEL_BINDING.eval(File.read("main.rb", encoding: "UTF-8"), "main.rb", 1)
  while (line = from.gets)
    to.write(reply.call(parse.call(line, max_nesting: false)), "\n")
  end
end.call
